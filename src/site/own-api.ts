import type { Readable } from 'node:stream';
import type {
  FastifyError,
  FastifyInstance,
  InjectOptions,
  LightMyRequestResponse as InjectResponse,
} from 'fastify';
import { ERRORS, type ErrorKind, type ParameterFault, SoukError } from '../platform/errors.ts';

/** Whoever a page calls the service for. */
export interface ApiCaller {
  app: FastifyInstance;
  apiKey: string;
}

export type ApiMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface ApiAnswer {
  status: number;
  headers: ApiHeaders;
  envelope: ApiEnvelope;
}

export type ApiHeaders = Record<string, string | string[] | number | undefined>;

/** Only addresses with small answers are asked for it. */
export interface ApiEnvelope {
  code: string;
  msg: string;
  data: unknown;
  metadata?: Record<string, unknown>;
}

/**
 * Calls the service as the customer's own program would, so that pages can do nothing that its interface does not, and
 * reach nothing of anybody else.
 * @param body an object is sent as JSON, text as an item a line.
 */
export async function callApi(
  { app, apiKey }: ApiCaller,
  method: ApiMethod,
  path: string,
  body?: object | string,
): Promise<ApiAnswer> {
  const response = await inject(app, {
    method,
    url: path,
    headers: {
      'x-api-key': apiKey,
      accept: 'application/json',
      ...(typeof body === 'string' ? { 'content-type': 'application/x-ndjson' } : {}),
    },
    ...(body === undefined ? {} : { payload: body }),
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    envelope: JSON.parse(response.body) as ApiEnvelope,
  };
}

/** An answer whose body is passed on, or let go, without having been held or read as a whole. */
export interface ApiStream {
  status: number;
  headers: ApiHeaders;
  body: Readable;
}

/** The same for answers of any size. Whoever gets one reads its body to the end or destroys it. */
export async function streamApi(
  { app, apiKey }: ApiCaller,
  {
    method = 'GET',
    path,
    headers = {},
    body,
  }: { method?: ApiMethod; path: string; headers?: Record<string, string>; body?: object | undefined },
): Promise<ApiStream> {
  const response = await inject(app, {
    method,
    url: path,
    headers: { ...headers, 'x-api-key': apiKey },
    payloadAsStream: true,
    ...(body === undefined ? {} : { payload: body }),
  });
  const stream = response.stream();
  // A reader that leaves has left the service too: it stops making what nobody reads.
  stream.once('close', () => response.raw.res.destroy());
  return { status: response.statusCode, headers: response.headers, body: stream };
}

/** @throws SoukError BUSY while the gateway closes: it answers what is under way, and begins nothing. */
async function inject(app: FastifyInstance, request: InjectOptions): Promise<InjectResponse> {
  try {
    return await app.inject(request);
  } catch (error) {
    if ((error as FastifyError).code !== 'FST_ERR_REOPENED_CLOSE_SERVER') throw error;
    throw new SoukError('BUSY', { message: 'This part of the service is being restarted.', cause: error });
  }
}

/** The data of an answer that is good. @throws SoukError as the service has it: a page that asks wrongly says so. */
export function dataOf<Data>(answer: ApiAnswer): Data {
  if (answer.status < 400) return answer.envelope.data as Data;
  throw errorOf(answer);
}

/** What the service has refused, as it said it. */
export function errorOf({ status, envelope }: Pick<ApiAnswer, 'status' | 'envelope'>): SoukError {
  const found = Object.entries(ERRORS).find(
    ([, error]) => error.status === status && error.code === envelope.code,
  );
  const kind = (found?.[0] ?? 'INTERNAL') as ErrorKind;
  const { msg: message, metadata } = envelope;
  return new SoukError(kind, { message, ...(metadata ? { metadata } : {}) });
}

/** What of a refused request was wrong, a parameter each; none where it was refused for something else. */
export function faultsIn({ envelope }: Pick<ApiAnswer, 'envelope'>): readonly ParameterFault[] {
  const errors = envelope.metadata?.errors;
  return Array.isArray(errors) ? (errors as ParameterFault[]) : [];
}
