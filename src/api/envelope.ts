import { createHash } from 'node:crypto';
import { createGunzip, gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { type Mode, modeOf } from '../accounts/authentication.ts';
import { type CallRate, ERRORS, type SoukError } from '../platform/errors.ts';
import type { Answer } from '../results/answer-store.ts';
import { INLINE_LIMIT_BYTES } from '../results/cache.ts';
import { gunzip } from '../results/compression.ts';
import { ACCEPTED_CODE, errorBody, inMode, JSON_TYPE, okBody } from '../results/envelope.ts';

/** Bytes that change only with a new version of the service. */
export interface Version {
  bytes: Buffer;
  /** The bytes as gzip. */
  gzip: Buffer;
  contentType: string;
  etag: string;
}

export function versionOf(text: string, contentType: string): Version {
  const bytes = Buffer.from(text);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 24)}"`;
  return { bytes, gzip: gzipSync(bytes), contentType, etag };
}

/** Sends the bytes, or `304` to a client that has them. */
export function sendVersion(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, gzip, contentType, etag }: Version,
): FastifyReply {
  reply.header('etag', etag).header('cache-control', 'no-cache');
  if (listsTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  reply.header('content-type', contentType).header('vary', 'Accept-Encoding');
  return acceptsGzip(reply) ? reply.header('content-encoding', 'gzip').send(gzip) : reply.send(bytes);
}

/** Returns whether an If-None-Match header names a version. Weak tags count, because proxies that compress make tags weak. */
export function listsTag(header: string | undefined, etag: string): boolean {
  const listed = (header ?? '').split(',').map((entry) => entry.trim().replace(/^W\//, ''));
  return listed.includes(etag) || listed.includes('*');
}

/** Facts about a call that headers of the answer state. */
export interface CallFacts {
  unitsConsumed: number;
  /** HIT: all data came from the cache. */
  cache?: 'HIT' | 'MISS';
  jobId?: string;
  /** The calls left in this minute, for an account with a limit. */
  minute?: CallRate | null;
  /** Units that the job cost, for an answer that is fetched later. */
  unitsCharged?: number;
  deduplicated?: boolean;
}

/** Facts for an answer that is free and belongs to no call. */
const FREE: CallFacts = { unitsConsumed: 0 };

/** Sets the headers of every answer. */
export function setFacts(reply: FastifyReply, facts: CallFacts = FREE): void {
  if (modeOfReply(reply) === 'test') reply.header('x-livemode', 'false');
  reply.header('x-response-time', `${Math.round(performance.now() - reply.request.startedAt)}ms`);
  reply.header('x-units-consumed', facts.unitsConsumed);
  reply.header('x-request-id', reply.request.id);
  if (facts.cache) reply.header('x-cache', facts.cache);
  if (facts.jobId) reply.header('x-job-id', facts.jobId);
  if (facts.unitsCharged !== undefined) reply.header('x-units-charged', facts.unitsCharged);
  if (facts.deduplicated) reply.header('x-deduplicated', 'true');
  if (facts.minute) {
    const { limit, remaining, resetSeconds } = facts.minute;
    reply.header('ratelimit-policy', `"minute";q=${limit};w=60`);
    reply.header('ratelimit', `"minute";r=${remaining};t=${resetSeconds}`);
  }
}

/** Returns the mode of the account that receives an answer; `live` if the account is not known. */
export function modeOfReply({ request }: FastifyReply): Mode {
  return modeOf(request.accountId ?? 0);
}

interface Envelope {
  message?: string | undefined;
  code?: string | undefined;
  facts?: CallFacts;
}

/** The envelope of an answer with status 202 that holds a job instead of its result. */
export const ACCEPTED = { message: 'accepted', code: ACCEPTED_CODE };

/** Sends a small answer that the gateway itself produced. */
export function sendEnvelope(
  reply: FastifyReply,
  status: number,
  data: unknown,
  { message, code, facts }: Envelope = {},
): FastifyReply {
  setFacts(reply, facts);
  return reply
    .code(status)
    .header('content-type', JSON_TYPE)
    .send(inMode(modeOfReply(reply), okBody(data, message, code)));
}

/** Sends an error. Errors are free. */
export function sendError(reply: FastifyReply, error: SoukError): FastifyReply {
  setFacts(reply, error.rate ? { ...FREE, minute: error.rate } : FREE);
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds);
  const body = inMode(modeOfReply(reply), errorBody(error));
  return reply.code(ERRORS[error.kind].status).header('content-type', JSON_TYPE).send(body);
}

/** Sends a stored answer, decompressed for a client that does not accept gzip; a large one as a stream. Returns a promise if it decompresses. */
export function sendAnswer(
  reply: FastifyReply,
  { meta, body }: Answer,
  facts: CallFacts,
): FastifyReply | Promise<FastifyReply> {
  setFacts(reply, facts);
  reply.code(200).header('content-type', meta.contentType);
  if (meta.fileName) reply.header('content-disposition', dispositionOf(meta.fileName));
  if (meta.encoding === 'identity')
    return reply.send(isShortText(meta.contentType, body) ? body.toString() : body);
  if (acceptsGzip(reply)) return reply.header('content-encoding', 'gzip').send(body);
  reply.header('content-length', meta.size);
  if (meta.size <= INLINE_LIMIT_BYTES) return gunzip(body).then((bytes) => reply.send(bytes));
  const inflate = createGunzip();
  inflate.end(body);
  return reply.send(inflate);
}

/** Returns the header with which a browser saves an answer as a file. @param name as `fileNameOf` makes it. */
export function dispositionOf(name: string): string {
  return `attachment; filename="${name}"`;
}

/** Texts up to this size are sent as strings, because Node.js writes a string together with the headers. */
const SHORT_BYTES = 8_192;

function isShortText(contentType: string, { length }: Buffer): boolean {
  return length <= SHORT_BYTES && contentType.endsWith('charset=utf-8');
}

/** Returns whether the client prefers gzip. */
export function acceptsGzip({ request }: FastifyReply): boolean {
  const accepted = request.headers['accept-encoding'];
  if (accepted === undefined) return false;
  return new Negotiator(request.raw).encoding(['gzip', 'identity']) === 'gzip';
}
