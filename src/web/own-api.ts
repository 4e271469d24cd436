import type { FastifyInstance } from 'fastify';
import { SoukError } from '../errors.ts';

export interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  /** The envelope; only addresses with small answers are asked. */
  envelope: { code: string; msg: string; data: unknown; metadata?: Record<string, unknown> };
}

/**
 * Calls the service as the customer's own program would, so that pages can do nothing that its interface does not, and
 * reach nothing of anybody else.
 */
export async function callApi(
  { app, apiKey }: { app: FastifyInstance; apiKey: string },
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<ApiAnswer> {
  const response = await app.inject({
    method,
    url: path,
    headers: { 'x-api-key': apiKey, accept: 'application/json' },
    ...(body === undefined ? {} : { payload: body as object }),
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    envelope: JSON.parse(response.body) as ApiAnswer['envelope'],
  };
}

/** The data of an answer that is good. @throws SoukError as the service has it: a page that asks wrongly says so. */
export function dataOf<Data>({ status, envelope }: ApiAnswer): Data {
  if (status < 400) return envelope.data as Data;
  const kind =
    status === 404
      ? 'NOT_FOUND'
      : status === 503
        ? 'BUSY'
        : status === 400
          ? 'VALIDATION_FAILED'
          : 'INTERNAL';
  throw new SoukError(kind, { message: envelope.msg });
}
