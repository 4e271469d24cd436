import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import parseRanges from 'range-parser';
import { SoukError } from '../platform/errors.ts';
import { acceptsGzip, listsTag } from './envelope.ts';

type Headers = FastifyRequest['headers'];

/** Bytes that do not change, of which a client may read a part. */
export interface Sendable {
  /** Identifies the bytes, without quotes. */
  tag: string;
  /** Unix milliseconds. */
  modifiedAt: number;
  contentType: string;
  isCompressible: boolean;
  /** Returns how to read parts of the bytes, without compression. */
  parts(): Promise<Parts>;
  /** Sends all bytes, compressed if that is possible and the client prefers it. */
  sendAll(): FastifyReply | Promise<FastifyReply>;
}

export interface Parts {
  size: number;
  /** Returns the bytes from the first to the last one, both included. */
  read(first: number, last: number): AsyncIterable<Buffer>;
}

/**
 * Sends bytes, or the part that the request names; `304` to a client that has them, and the headers alone for HEAD. Parts and HEAD
 * are of the bytes without compression. Several ranges in one request are answered with all bytes, as RFC 9110 permits.
 * @throws SoukError RANGE_NOT_SATISFIABLE.
 */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { tag, modifiedAt, contentType, isCompressible, parts, sendAll }: Sendable,
): Promise<FastifyReply> {
  const { method, headers } = request;
  const modified = new Date(modifiedAt).toUTCString();
  const ranged = method === 'GET' ? rangeOf(headers, { etag: `"${tag}"`, modified }) : null;
  const isGzip = method === 'GET' && !ranged && isCompressible && acceptsGzip(reply);
  const etag = isGzip ? `"${tag}-gzip"` : `"${tag}"`;
  const version = { etag, 'last-modified': modified, 'accept-ranges': 'bytes' };
  if (isNotModified(headers, { tag, modifiedAt })) return reply.code(304).headers(version).send();
  const all = { ...version, 'content-type': contentType };
  if (method !== 'HEAD' && !ranged) {
    reply.headers(all);
    return sendAll();
  }
  const { size, read } = await parts();
  const range = ranged ? placeIn(size, ranged) : null;
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`);
    throw new SoukError('RANGE_NOT_SATISFIABLE', {
      message: `The range ${ranged} is not within the ${size} bytes of the result.`,
    });
  }
  reply.headers(all);
  // Fastify would count the bytes of an empty text.
  if (!ranged) return reply.header('content-length', size).send(Readable.from([]));
  if (!range) return sendAll();
  const { start, end } = range;
  return reply
    .code(206)
    .headers({ 'content-range': `bytes ${start}-${end}/${size}`, 'content-length': end - start + 1 })
    .send(Readable.from(read(start, end), { objectMode: false }));
}

/** Returns the header Range, unless its condition fails. */
function rangeOf(
  { range, 'if-range': condition }: Headers,
  present: { etag: string; modified: string },
): string | null {
  const isMet = condition === undefined || condition === present.etag || condition === present.modified;
  return isMet ? (range ?? null) : null;
}

/** Returns the one range of a header; null if it names several, or bytes in another way. */
function placeIn(size: number, range: string): { start: number; end: number } | 'unsatisfiable' | null {
  const ranges = parseRanges(size, range);
  if (ranges === -1) return 'unsatisfiable';
  if (ranges === -2 || ranges.type !== 'bytes') return null;
  return ranges.length === 1 ? (ranges[0] ?? null) : null;
}

/** RFC 9110, 13.2.2: without If-None-Match, the date counts. */
function isNotModified(
  { 'if-none-match': tags, 'if-modified-since': since }: Headers,
  { tag, modifiedAt }: Pick<Sendable, 'tag' | 'modifiedAt'>,
): boolean {
  if (tags !== undefined) return listsTag(tags, `"${tag}"`) || listsTag(tags, `"${tag}-gzip"`);
  return since !== undefined && Math.floor(modifiedAt / 1000) * 1000 <= Date.parse(since);
}

/** A request for a part, or for the headers, is short: it takes no slot of the downloads of its account. */
export function downloadsOf({ method, headers }: FastifyRequest): 'streams' | 'downloads' {
  return headers.range !== undefined || method === 'HEAD' ? 'streams' : 'downloads';
}
