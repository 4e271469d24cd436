import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import { type CallResults, failureLines } from '../batches/results.ts';
import type { CallLines } from '../batches/tables/result-table.ts';
import type { TableShape } from '../operations/tables/columns.ts';
import { TABLE_FORMATS, type TableFormat } from '../operations/tables/formats.ts';
import { gunzip } from '../results/compression.ts';
import { fileNameOf } from '../results/tables/file-name.ts';
import { type Rows, writeTable } from '../results/tables/write-table.ts';
import { acceptsGzip, dispositionOf, setFacts } from './envelope.ts';

/** At the fastest level, compressing keeps up with fast connections. */
const LEVEL = 1;

/**
 * Sends pieces one at a time. Stored pieces are compressed again: browsers read only the first of several gzip members.
 * @param about `size` is known; `isCompressible` is false for bytes that compressing makes no smaller.
 */
export function sendPieces(
  reply: FastifyReply,
  pieces: AsyncIterable<Buffer>,
  { size, isCompressible = true }: { size?: number; isCompressible?: boolean } = {},
): FastifyReply {
  // Another stream around it would not end it if the client has gone before the first bytes.
  const text = pieces instanceof Readable ? pieces : Readable.from(pieces, { objectMode: false });
  if (!isCompressible || !acceptsGzip(reply)) {
    if (size !== undefined) reply.header('content-length', size);
    return reply.send(text);
  }
  // An error destroys the last stream, which ends the response.
  const compressed = pipeline(text, createGzip({ level: LEVEL }), () => {});
  return reply.header('content-encoding', 'gzip').send(compressed);
}

export async function* ndjson(
  calls: AsyncIterable<CallResults>,
  cursor: number | null,
): AsyncGenerator<Buffer> {
  for await (const call of calls) {
    const { lines, firstItem, itemCount, error } = call;
    const text = lines ? await gunzip(lines) : Buffer.from(error ? failureLines(call, error) : '');
    // The client has already received some lines of the call that contains its last item.
    const isAtCursor = cursor !== null && firstItem <= cursor && cursor < firstItem + itemCount;
    yield isAtCursor ? linesAfter(text, cursor) : text;
  }
}

/** Returns the lines of a call after an item. Each line begins with its index. */
function linesAfter(lines: Buffer, cursor: number): Buffer {
  let from = 0;
  while (from < lines.length) {
    const index = /^\{"index":(\d+)/.exec(lines.toString('latin1', from, from + 30))?.[1];
    if (index === undefined || Number(index) > cursor) break;
    const end = lines.indexOf(10, from);
    from = end === -1 ? lines.length : end + 1;
  }
  return lines.subarray(from);
}

/** Yields the calls that have results, as tables need them. */
export async function* withLines(calls: AsyncIterable<CallResults>): AsyncGenerator<CallLines> {
  for await (const { input, lines, endedAt } of calls) if (lines) yield { input, lines, at: endedAt };
}

/** Sends rows as a file. @param now Unix milliseconds, for its name. */
export function sendTable(
  reply: FastifyReply,
  format: TableFormat,
  table: TableShape,
  rows: Rows,
  now: number,
): FastifyReply {
  const { contentType, isCompressible } = TABLE_FORMATS[format];
  setFacts(reply);
  reply.header('content-type', contentType);
  reply.header(
    'content-disposition',
    dispositionOf(fileNameOf({ table: table.name, parameters: {}, format, now })),
  );
  const bytes = writeTable(format, table, rows);
  return sendPieces(reply, bytes, { isCompressible });
}
