import { createGunzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import Negotiator from 'negotiator';
import { INLINE_LIMIT_BYTES } from '../results/answer.ts';
import type { Answer } from '../results/answer-store.ts';
import { gunzip } from '../results/compression.ts';
import { type CallFacts, setFacts } from './envelope.ts';

/** Sends a stored answer, decompressed for a client that does not accept gzip; a large one as a stream. Returns a promise if it decompresses. */
export function sendAnswer(
  reply: FastifyReply,
  { meta, body }: Answer,
  facts: CallFacts,
): FastifyReply | Promise<FastifyReply> {
  setFacts(reply, facts);
  reply.code(200).header('content-type', meta.contentType);
  if (meta.encoding === 'identity')
    return reply.send(isShortText(meta.contentType, body) ? body.toString() : body);
  if (acceptsGzip(reply)) return reply.header('content-encoding', 'gzip').send(body);
  reply.header('content-length', meta.size);
  if (meta.size <= INLINE_LIMIT_BYTES) return gunzip(body).then((bytes) => reply.send(bytes));
  const inflate = createGunzip();
  inflate.end(body);
  return reply.send(inflate);
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
