import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import Negotiator from 'negotiator';
import { z } from 'zod';
import type { Batch } from '../../../batches/batch.ts';
import { failureLines, tableHeader } from '../../../batches/lines.ts';
import { type CallResults, RESULT_ORDERS, resultsOf, sampleInput } from '../../../batches/results.ts';
import { joinPieces, storedPiece } from '../../../batches/stored-results.ts';
import { noTableWith, tableOf } from '../../../operations/define.ts';
import { queuedOperation } from '../../../operations/index.ts';
import { integer, oneOf } from '../../../operations/params/scalars.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { invalidParameters } from '../../../platform/errors.ts';
import { gunzip } from '../../../results/compression.ts';
import { setFacts } from '../../envelope.ts';
import { headers } from '../../openapi/responses.ts';
import { tableHasNo } from '../../operations/answer-format.ts';
import { endpoint } from '../endpoint.ts';
import { type BatchDeps, batchId, ownBatch } from './own-batch.ts';

export const getBatchResults = endpoint({
  tag: 'batches',
  method: 'get',
  path: '/api/batches/{id}/results',
  tool: 'batches_get_results',
  summary: 'Returns the results of a batch so far.',
  description:
    'Returns the results of a batch so far, as NDJSON (one object per item with `index`, `params`, `code`, and `data` or `msg`) or as CSV.',
  id: batchId,
  occupies: 'downloads',
  query: z
    .object({
      order: oneOf(RESULT_ORDERS)
        .default('item')
        .describe(
          'item: in the order of the items, up to the first unfinished item; finished: in the order in which items finished',
        ),
      format: oneOf(['ndjson', 'csv'])
        .default('ndjson')
        .describe('csv is available for operations whose results form a table'),
      cursor: integer({ min: 0 })
        .nullable()
        .default(null)
        .meta({ description: 'Index of the last item that the client has received', examples: [99] }),
    })
    .refine(({ format, cursor }) => format === 'ndjson' || cursor === null, {
      path: ['cursor'],
      message: 'can be used with format=ndjson only',
    }),
  answers: {
    200: {
      description: 'The results so far',
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
      const problem = `must be the index of an item, 0 to ${batch.items.total - 1}, got ${cursor}`;
      throw invalidParameters([{ parameter: 'cursor', problem }]);
    }
    // Sends the stored bytes without parsing them.
    const calls = resultsOf(database, id, order, cursor);
    const pieces = format === 'csv' ? csv(await columnsOf(database, batch), calls) : ndjson(calls, cursor);
    setFacts(reply);
    reply.header('x-batch-finished', String(batch.finishedAt !== null));
    reply.header('content-type', format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson');
    return sendPieces(reply, pieces);
  },
});

/** A piece of results: as it is stored, or as text. */
type Piece = { stored: Buffer } | { text: string | Buffer };

/** Sends pieces one at a time: unchanged to clients that accept gzip, and decompressed to others. */
function sendPieces(reply: FastifyReply, pieces: AsyncIterable<Piece>): FastifyReply {
  const takesGzip = new Negotiator(reply.request.raw).encodings(['gzip', 'identity'])[0] === 'gzip';
  if (takesGzip) reply.header('content-encoding', 'gzip');
  const bytes = takesGzip ? joinPieces(compressed(pieces)) : inflated(pieces);
  return reply.send(Readable.from(bytes, { objectMode: false }));
}

async function* compressed(pieces: AsyncIterable<Piece>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield 'stored' in piece ? piece.stored : await storedPiece(piece.text);
}

async function* inflated(pieces: AsyncIterable<Piece>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    const text = 'stored' in piece ? await gunzip(piece.stored) : Buffer.from(piece.text);
    if (text.length > 0) yield text;
  }
}

async function* ndjson(calls: AsyncIterable<CallResults>, cursor: number | null): AsyncGenerator<Piece> {
  for await (const call of calls) {
    const { lines, firstItem, itemCount, error } = call;
    // The client has already received some lines of the call that contains its last item.
    const isAtCursor = cursor !== null && firstItem <= cursor && cursor < firstItem + itemCount;
    if (lines && !isAtCursor) yield { stored: lines };
    else {
      const text = lines ? await gunzip(lines) : Buffer.from(error ? failureLines(call, error) : '');
      yield { text: isAtCursor ? linesAfter(text, cursor) : text };
    }
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

async function* csv(columns: readonly string[], calls: AsyncIterable<CallResults>): AsyncGenerator<Piece> {
  yield { text: tableHeader(columns) };
  for await (const { tableRows } of calls) if (tableRows) yield { stored: tableRows };
}

/** @throws SoukError VALIDATION_FAILED if the results do not form a table. */
async function columnsOf(database: Database, { operation, batchId }: Batch): Promise<readonly string[]> {
  const found = queuedOperation(operation);
  const input = await sampleInput(database, batchId);
  const table = found && tableOf(found, input);
  const parameter = found?.table ? noTableWith(found, input) : null;
  if (table && parameter === null) return table.columns(input);
  const problem = parameter
    ? `must be ndjson, because the batch has ${parameter}: ${tableHasNo(parameter)}`
    : `must be ndjson: the results of ${operation} do not form a table`;
  throw invalidParameters([{ parameter: 'format', problem }]);
}
