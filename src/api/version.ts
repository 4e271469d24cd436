import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptsGzip } from './send-answer.ts';

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
  if (names(request.headers['if-none-match'], etag)) return reply.code(304).send();
  reply.header('content-type', contentType).header('vary', 'Accept-Encoding');
  return acceptsGzip(reply) ? reply.header('content-encoding', 'gzip').send(gzip) : reply.send(bytes);
}

/** Returns whether an If-None-Match header names a version. Weak tags count, because proxies that compress make tags weak. */
function names(header: string | undefined, etag: string): boolean {
  const listed = (header ?? '').split(',').map((entry) => entry.trim().replace(/^W\//, ''));
  return listed.includes(etag) || listed.includes('*');
}
