import type { FastifyReply, FastifyRequest } from 'fastify';
import { type GatewayAnswer, type GatewayRequest, readAtMost, requestsTo } from '../../api/self-client.ts';
import { mediaTypeOf, TABLE_FORMAT_NAMES } from '../../operations/tables/formats.ts';
import { ERRORS, type ErrorKind, type ParameterFault, SoukError } from '../../platform/errors.ts';
import { FormRefused, type FormValues, readValues } from '../kit/form-request.ts';
import { addressOf, type Listed } from '../kit/list-page.tsx';
import { customerOf } from '../session.ts';

type Method = GatewayRequest['method'];

/** An answer of the API that was read completely. */
export interface ApiAnswer {
  status: number;
  envelope: ApiEnvelope;
}

export interface ApiEnvelope {
  code: string;
  msg: string;
  data: unknown;
  metadata?: Record<string, unknown>;
}

/** Sends a request to the API with the customer's own key, so that a page can do only what the API allows this account. */
export function streamApi(
  request: FastifyRequest,
  sent: GatewayRequest,
  headers?: Record<string, string>,
): Promise<GatewayAnswer> {
  return requestsTo(request.server)({ key: customerOf(request).apiKey }, sent, headers);
}

/** Sends a request whose answer is small, and reads the answer. */
export async function callApi(
  request: FastifyRequest,
  method: Method,
  url: string,
  body?: GatewayRequest['body'],
): Promise<ApiAnswer> {
  const answer = await streamApi(request, { method, url, body });
  return { status: answer.status, envelope: await envelopeOf(answer) };
}

/** Sends a request and returns the data of its answer. @throws SoukError the error of the API. */
export async function apiData<Data>(
  request: FastifyRequest,
  method: Method,
  url: string,
  body?: object,
): Promise<Data> {
  return dataOf<Data>(await callApi(request, method, url, body));
}

/** @throws SoukError the error of the API. */
export function dataOf<Data>(answer: ApiAnswer): Data {
  if (answer.status < 400) return answer.envelope.data as Data;
  throw errorOf(answer);
}

export async function envelopeOf(answer: GatewayAnswer): Promise<ApiEnvelope> {
  const { bytes } = await readAtMost(answer, Number.POSITIVE_INFINITY);
  return JSON.parse(bytes.toString()) as ApiEnvelope;
}

function errorOf({ status, envelope }: ApiAnswer): SoukError {
  const found = Object.entries(ERRORS).find(
    ([, error]) => error.status === status && error.code === envelope.code,
  );
  const kind = (found?.[0] ?? 'INTERNAL') as ErrorKind;
  const { msg: message, metadata } = envelope;
  return new SoukError(kind, { message, ...(metadata ? { metadata } : {}) });
}

const MAX_FAULTS_SHOWN = 5;

/**
 * The refused form, with the faults the API reports: alongside the field of a parameter, all others above the form.
 * @param fieldOf returns the field of a parameter, if the form has one.
 */
export function refusedForm(
  { status, envelope }: ApiAnswer,
  fieldOf: (parameter: string) => string | undefined,
): FormRefused {
  const faults: Record<string, string> = {};
  const others: string[] = [];
  for (const { parameter, problem, index } of faultsIn(envelope)) {
    const field = index === undefined ? fieldOf(parameter) : undefined;
    if (field !== undefined) faults[field] ??= problem;
    else others.push(`${index === undefined ? '' : `Item ${index + 1}: `}${parameter} ${problem}`);
  }
  const more = others.length - MAX_FAULTS_SHOWN;
  if (others.length > 0)
    faults[''] = others.slice(0, MAX_FAULTS_SHOWN).join('; ') + (more > 0 ? `; and ${more} more` : '');
  return new FormRefused(status, Object.keys(faults).length > 0 ? faults : { '': envelope.msg });
}

function faultsIn({ metadata }: ApiEnvelope): readonly (ParameterFault & { index?: number })[] {
  return Array.isArray(metadata?.errors) ? metadata.errors : [];
}

/**
 * Reads a page of one of the API's lists. The query of the site's page has filters and cursor under the same names; `sent`
 * has values that the API receives instead.
 */
export async function apiList<Item>(
  request: FastifyRequest,
  about: { url: string; name: string; filters?: string[]; sent?: FormValues; limit?: number },
): Promise<Listed<Item>> {
  const { url, name, filters = [], sent = {}, limit = 25 } = about;
  const asked = readValues(request.query);
  const query = Object.fromEntries([...filters, 'cursor'].map((filter) => [filter, asked[filter]]));
  const address = addressOf(url, { ...query, ...sent, limit: String(limit) });
  const { nextCursor, ...data } = await apiData<{ nextCursor: string | null }>(request, 'GET', address);
  return { items: (data as Record<string, Item[]>)[name] ?? [], query, next: nextCursor };
}

/** The id in the address of a page, encoded for an address of the API. */
export function idIn({ params }: FastifyRequest): string {
  return encodeURIComponent((params as { id: string }).id);
}

/** Headers of a request that ask for a form or a part of a file, and those of its answer. */
const FILE_REQUEST = ['accept-encoding', 'range', 'if-range'];
const FILE_ANSWER = [
  'content-type',
  'content-encoding',
  'content-length',
  'content-disposition',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'vary',
];

const EXTENSIONS: Record<string, string> = {
  'application/json': 'json',
  'image/png': 'png',
  ...Object.fromEntries(TABLE_FORMAT_NAMES.map((format) => [mediaTypeOf(format), format])),
};

/**
 * Streams an answer of the API to the browser as a file, or the part of it that the browser wants after an interruption.
 * @param name of an answer that has none.
 * @throws SoukError the error of the API.
 */
export async function sendDownload(
  request: FastifyRequest,
  reply: FastifyReply,
  { url, name }: { url: string; name: string },
): Promise<FastifyReply> {
  const sent = FILE_REQUEST.map((header) => [header, request.headers[header]]);
  const headers = Object.fromEntries(sent.filter(([, value]) => value !== undefined));
  const answer = await streamApi(request, { method: 'GET', url }, headers);
  const { status } = answer;
  if (status >= 400) throw errorOf({ status, envelope: await envelopeOf(answer) });
  const [type = ''] = (answer.header('content-type') ?? '').split(';', 1);
  reply.header('content-disposition', `attachment; filename="${name}.${EXTENSIONS[type] ?? 'bin'}"`);
  for (const header of FILE_ANSWER) {
    const value = answer.header(header);
    if (value !== undefined) reply.header(header, value);
  }
  return reply.code(status).header('cache-control', 'no-store').send(answer.body);
}
