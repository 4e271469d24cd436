import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import Negotiator from 'negotiator';
import { z } from 'zod';
import type { Batch } from '../../../batches/batch.ts';
import { failureLines, tableHeader } from '../../../batches/lines.ts';
import { type CallResults, RESULT_ORDERS, resultsOf, sampleInput } from '../../../batches/results.ts';
import { queuedOperation } from '../../../operations/index.ts';
import { integer, oneOf } from '../../../operations/params/scalars.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { invalidParameters } from '../../../platform/errors.ts';
import { gunzip } from '../../../results/compression.ts';
import { setFacts } from '../../envelope.ts';
import { headers } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type BatchDeps, batchId, ownBatch } from './own-batch.ts';

export const getBatchResults = endpoint({
  tag: 'batches',
  method: 'get',
  path: '/api/batches/{id}/results',
  tool: 'batches_get_results',
  summary: 'Streams what a batch has brought so far.',
  description:
    'Streams what a batch has brought so far: a JSON object a line with `index`, `params`, `code` and `data` or `msg`, or a table.',
  id: batchId,
  occupies: 'downloads',
  query: z
    .object({
      order: oneOf(RESULT_ORDERS)
        .default('item')
        .describe(
          'item: in the order of items, up to the first that is not done; finished: as they were done',
        ),
      format: oneOf(['ndjson', 'csv']).default('ndjson').describe('csv only where the results are a table'),
      cursor: integer({ min: 0 })
        .nullable()
        .default(null)
        .meta({ description: 'Index of the last item the client has', examples: [99] }),
    })
    .refine(({ format, cursor }) => format === 'ndjson' || cursor === null, {
      path: ['cursor'],
      message: 'goes with format=ndjson only',
    }),
  answers: {
    200: {
      description: 'Results',
      headers: headers('X-Batch-Finished'),
      content: {
        'application/x-ndjson': { schema: { type: 'string' } },
        'text/csv': { schema: { type: 'string' } },
      },
    },
  },

  async handle({ database }: Pick<BatchDeps, 'database'>, { account, id, query, reply }) {
    const { order, format, cursor } = query;
    const batch = await ownBatch({ database }, account, id);
    if (cursor !== null && cursor >= batch.items.total) {
      const problem = `must be the index of an item, 0 to ${batch.items.total - 1}`;
      throw invalidParameters([{ parameter: 'cursor', problem }]);
    }
    // The results are sent as they are stored; nothing of them is parsed here.
    const calls = resultsOf(database, id, order, cursor);
    const pieces = format === 'csv' ? csv(await columnsOf(database, batch), calls) : ndjson(calls, cursor);
    setFacts(reply);
    reply.header('x-batch-finished', String(batch.finishedAt !== null));
    reply.header('content-type', format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson');
    return sendStream(reply, Readable.from(pieces, { objectMode: false }));
  },
});

/** Sends a stream, compressed for a client that takes gzip. */
function sendStream(reply: FastifyReply, stream: Readable): FastifyReply {
  const takesGzip = new Negotiator(reply.request.raw).encodings(['gzip', 'identity'])[0] === 'gzip';
  if (!takesGzip) return reply.send(stream);
  // An error on one side, or a client that leaves, ends the other side.
  const compressed = pipeline(stream, createGzip({ level: 1 }), () => {});
  return reply.header('content-encoding', 'gzip').send(compressed);
}

async function* ndjson(calls: AsyncIterable<CallResults>, cursor: number | null): AsyncGenerator<Buffer> {
  for await (const call of calls) {
    const lines = call.lines
      ? await gunzip(call.lines)
      : Buffer.from(call.error ? failureLines(call, call.error) : '');
    // The client has some of the lines of the call that holds its last item.
    const isAtCursor =
      cursor !== null && call.firstItem <= cursor && cursor < call.firstItem + call.itemCount;
    const rest = isAtCursor ? linesAfter(lines, cursor) : lines;
    if (rest.length > 0) yield rest;
  }
}

/** What of a call's lines comes after an item; the index is the first thing in a line. */
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

async function* csv(columns: readonly string[], calls: AsyncIterable<CallResults>): AsyncGenerator<Buffer> {
  yield Buffer.from(tableHeader(columns));
  for await (const { tableRows } of calls) {
    const rows = tableRows ? await gunzip(tableRows) : Buffer.alloc(0);
    if (rows.length > 0) yield rows;
  }
}

/** @throws SoukError VALIDATION_FAILED where the results are no table. */
async function columnsOf(database: Database, { operation, batchId }: Batch): Promise<readonly string[]> {
  const table = queuedOperation(operation)?.table;
  const columns = table?.columns(await sampleInput(database, batchId));
  if (columns && 'columns' in columns) return columns.columns;
  const problem = columns
    ? `must be ndjson: the results are a table only with ${columns.needs}`
    : `must be ndjson: the results of ${operation} are no table`;
  throw invalidParameters([{ parameter: 'format', problem }]);
}
