import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { type Batch, batchView } from '../batches/batch.ts';
import type { RequireStorage } from '../batches/limits.ts';
import { resultsOf, sampleInput } from '../batches/results.ts';
import { noTableWith, tableOf } from '../operations/define.ts';
import { queuedOperation } from '../operations/index.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { invalidParameters } from '../platform/errors.ts';
import type { Answer } from '../results/answer-store.ts';
import { decompress } from '../results/compression.ts';
import {
  addFile,
  type Content,
  findContent,
  readContent,
  type StoredFile,
  writeContent,
} from '../results/files.ts';
import { type CallFacts, sendAnswer } from './envelope.ts';
import { tableHasNo } from './operations/call-options.ts';
import type { Parts, Sendable } from './send-file.ts';
import { csv, ndjson, sendPieces } from './send-results.ts';

export const BATCH_FORMATS = ['ndjson', 'csv'] as const;

export type BatchFormat = (typeof BATCH_FORMATS)[number];

const CONTENT_TYPES: Readonly<Record<BatchFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
};

/** Endings of names of files, by media type. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/vnd.apache.parquet': 'parquet',
  'text/csv': 'csv',
  'image/png': 'png',
};

/** Returns the ending of the name of a file. */
export function extensionOf(contentType: string): string {
  return EXTENSIONS[contentType.split(';', 1)[0] ?? ''] ?? 'bin';
}

/** The answer of a job. */
export function answerFile(reply: FastifyReply, answer: Answer, facts: CallFacts): Sendable {
  const { meta, body } = answer;
  const { version, fromCache, fetchedAt, contentType, size, encoding } = meta;
  return {
    tag: `${version}${fromCache ? 'c' : ''}`,
    modifiedAt: fetchedAt,
    contentType,
    isCompressible: encoding === 'gzip',
    parts: async () => ({
      size,
      async *read(first, last) {
        yield (await decompress({ encoding, bytes: body })).subarray(first, last + 1);
      },
    }),
    sendAll: () => sendAnswer(reply, answer, facts),
  };
}

/** How a client wants the results of a batch. */
export interface ResultsForm {
  format: BatchFormat;
  order: 'item' | 'finished';
  /** Index of the last item that the client has received. */
  cursor: number | null;
}

/** The results of a batch so far, a piece at a time. Stored bytes are not parsed. @throws SoukError VALIDATION_FAILED. */
export async function batchResults(
  database: Database,
  batch: Batch,
  { format, order, cursor }: ResultsForm,
): Promise<{ contentType: string; pieces: () => AsyncIterable<Buffer> }> {
  const columns = format === 'csv' ? await columnsOf(database, batch) : [];
  const calls = () => resultsOf(database, batch.batchId, order, cursor);
  return {
    contentType: CONTENT_TYPES[format],
    pieces: () => (format === 'csv' ? csv(columns, calls()) : ndjson(calls(), cursor)),
  };
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

export interface BatchFileDeps {
  database: Database;
  clock: Clock;
  requireStorage: RequireStorage;
}

/**
 * The results of a batch that has ended. They are written as a file when a client first reads a part of them.
 * @throws SoukError VALIDATION_FAILED.
 */
export async function batchFile(
  deps: BatchFileDeps,
  reply: FastifyReply,
  batch: Batch & { finishedAt: number },
  form: ResultsForm,
): Promise<Sendable> {
  const { database } = deps;
  const { contentType, pieces } = await batchResults(database, batch, form);
  const key = keyOf(batch, form);
  return {
    tag: createHash('sha256').update(key).digest('base64url').slice(0, 24),
    modifiedAt: batch.finishedAt,
    contentType,
    isCompressible: true,
    async parts() {
      const started = writing.get(key) ?? write().finally(() => writing.delete(key));
      writing.set(key, started);
      return partsOf(database, await started);
    },
    sendAll: () => sendPieces(reply.header('x-batch-finished', 'true'), pieces()),
  };

  async function write(): Promise<StoredFile> {
    const found = await findContent(database, key);
    if (!found) await deps.requireStorage(batch.accountId);
    const content = { key, contentType, isGzip: true, now: deps.clock.now };
    const { contentId } = found ?? (await writeContent(database, content, pieces()));
    return fileOf(deps, batch, { contentId, name: batchFileName(batch, form.format) });
  }
}

/** Files that this process writes, by key: requests for ranges often come several at a time. */
const writing = new Map<string, Promise<StoredFile>>();

/** A retry of failed items changes the time of the end. */
function keyOf({ batchId, finishedAt }: Batch, { format, order }: ResultsForm): string {
  return `batch/${batchId}/${finishedAt}/${format}/${order}`;
}

async function fileOf(
  { database, clock }: BatchFileDeps,
  batch: Batch,
  { contentId, name }: { contentId: string; name: string },
): Promise<StoredFile> {
  const { accountId, batchId: originId, operation } = batch;
  const createdAt = clock.now();
  const expiresAt = resultsEnd(batch) ?? createdAt;
  const file = { accountId, contentId, operation, originId, name, createdAt, expiresAt };
  const added = await addFile(database, file);
  if (!added) throw new Error(`the content ${contentId} was deleted`);
  return added;
}

/** Returns when the results of a batch are deleted, Unix milliseconds; null until it ends. */
export function resultsEnd(batch: Batch): number | null {
  const { resultsUntil } = batchView(batch);
  return resultsUntil === null ? null : Date.parse(resultsUntil);
}

export function batchFileName({ batchId }: Batch, format: BatchFormat): string {
  return `souk-batch-${batchId.slice(-12)}.${extensionOf(CONTENT_TYPES[format])}`;
}

/** A stored file. */
export function storedFile(reply: FastifyReply, database: Database, file: StoredFile): Sendable {
  const { contentId, contentType, size, writtenAt, isGzip } = file;
  const { read } = partsOf(database, file);
  return {
    tag: contentId,
    modifiedAt: writtenAt,
    contentType,
    isCompressible: isGzip,
    parts: async () => partsOf(database, file),
    sendAll: () => sendPieces(reply, read(0, size - 1), { size, isCompressible: isGzip }),
  };
}

function partsOf(database: Database, file: Content): Parts {
  return { size: file.size, read: (first, last) => readContent(database, file, first, last) };
}
