import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { type Batch, batchFileName, batchView } from '../batches/batch.ts';
import type { RequireStorage } from '../batches/limits.ts';
import { resultsOf, sampleInput } from '../batches/results.ts';
import type { CallLines, ResultTable } from '../batches/tables/result-table.ts';
import type { TableWriters } from '../batches/tables/table-writers.ts';
import type { Call } from '../billing/calls.ts';
import { queuedOperation } from '../operations/index.ts';
import { formOf, parseStored } from '../operations/params/answer-form.ts';
import {
  mediaTypeOf,
  TABLE_FORMAT_NAMES,
  TABLE_FORMATS,
  type TableFormat,
} from '../operations/tables/formats.ts';
import { chooseTable } from '../operations/tables/tables.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { invalidParameters } from '../platform/errors.ts';
import { parseJson, stringifyJson } from '../platform/json.ts';
import type { Answer } from '../results/answer-store.ts';
import { POLL_LIFETIME_MS } from '../results/cache.ts';
import { decompress, gzip } from '../results/compression.ts';
import {
  addFile,
  type Content,
  findContent,
  readContent,
  type StoredFile,
  writeContent,
} from '../results/files.ts';
import { fileNameOf } from '../results/tables/file-name.ts';
import { type CallFacts, dispositionOf, sendAnswer } from './envelope.ts';
import type { Parts, Sendable } from './send-file.ts';
import { ndjson, sendPieces, withLines } from './send-results.ts';

/** Endings of names of files, by media type. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'image/png': 'png',
  ...Object.fromEntries(TABLE_FORMAT_NAMES.map((format) => [mediaTypeOf(format), format])),
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

/** How a client wants the result of a job: as the call asked, or as a table. */
export interface JobForm {
  format?: 'json' | TableFormat | undefined;
  table?: string | undefined;
}

/**
 * Returns the table of the answer of a job that a client wants; null: the answer as it is stored.
 * @param whole what `format` must be for an answer of JSON.
 * @throws SoukError VALIDATION_FAILED if the answer has no such form.
 */
export function jobTable(
  { operation: name, input }: Call,
  { contentType }: Answer['meta'],
  form: JobForm,
  whole = 'json',
): ResultTable | null {
  const { format = form.table === undefined ? undefined : 'json', table } = form;
  const operation = queuedOperation(name);
  const refused = (parameter: 'format' | 'table', problem: string) =>
    invalidParameters([{ parameter, problem }]);
  const stored = extensionOf(contentType);
  if (format === undefined) return null;
  if (stored !== 'json' || format === 'json') {
    if (format !== stored)
      throw refused('format', `must be ${stored}, the form of the answer, got ${format}`);
    const made = formOf(input).table;
    if (table !== undefined && table !== made)
      throw refused(
        'table',
        made === undefined
          ? 'must be sent with a format other than json'
          : `must be ${made}, the table of the answer`,
      );
    return null;
  }
  if (!operation || input === null)
    throw refused(
      'format',
      `must be ${whole}: a call that the cache answered has no stored parameters. Make it with this format instead`,
    );
  const chosen = chooseTable(operation, input, table, whole);
  if ('fault' in chosen) throw invalidParameters([chosen.fault]);
  return { of: 'job', operation: name, table: chosen.name, format, input: stringifyJson(input) };
}

/** A table of the answer of a job. It is written as a file when a client first reads a part of it. */
export function jobTableFile(
  deps: BatchFileDeps,
  { callId, accountId, operation, acceptedAt, finishedAt, input }: Call,
  { meta, body }: Answer,
  table: ResultTable,
): { name: string; fileOf(reply: FastifyReply): Sendable } {
  const { format, table: tableName } = table;
  const { contentType, isCompressible } = TABLE_FORMATS[format];
  const modifiedAt = meta.fetchedAt;
  const name = fileNameOf({ table: tableName, parameters: input, format, now: modifiedAt });
  async function* calls(): AsyncGenerator<CallLines> {
    const at = finishedAt ?? modifiedAt;
    yield { input: table.input, lines: meta.encoding === 'gzip' ? body : await gzip(body), at };
  }
  const disposition = { 'content-disposition': dispositionOf(name) };
  const fileOf = (reply: FastifyReply) =>
    writtenFile(deps, {
      key: `job/${callId}/${meta.version}/${tableName}.${format}`,
      modifiedAt,
      contentType,
      isCompressible,
      pieces: () => deps.tables.write(accountId, table, calls()),
      of: { accountId, operation, originId: callId, name, expiresAt: acceptedAt + POLL_LIFETIME_MS },
      send: (pieces) => sendPieces(reply.headers(disposition), pieces, { isCompressible }),
    });
  return { name, fileOf };
}

/** How a client wants the results of a batch. */
export interface ResultsForm {
  format: TableFormat;
  /** Default: lines with whole answers for ndjson, or else the default table of the operation. */
  table?: string | undefined;
  order: 'item' | 'finished';
  /** Index of the last item that the client has received. */
  cursor: number | null;
}

interface BatchResults {
  contentType: string;
  isCompressible: boolean;
  /** The headers with the name of a table. */
  disposition: Record<string, string>;
  pieces: () => AsyncIterable<Buffer>;
}

/** The results of a batch so far, a piece at a time. Stored bytes are not parsed. @throws SoukError VALIDATION_FAILED. */
export async function batchResults(
  { database, tables }: Pick<BatchFileDeps, 'database' | 'tables'>,
  batch: Batch,
  form: ResultsForm,
): Promise<BatchResults> {
  const { format, table, order, cursor } = form;
  const chosen = table !== undefined || format !== 'ndjson' ? await tableOf(database, batch, form) : null;
  const calls = () => resultsOf(database, batch.batchId, order, chosen ? null : cursor);
  return {
    ...TABLE_FORMATS[format],
    disposition: chosen
      ? { 'content-disposition': dispositionOf(batchFileName(batch, { format, table: chosen.table })) }
      : {},
    pieces: () =>
      chosen ? tables.write(batch.accountId, chosen, withLines(calls())) : ndjson(calls(), cursor),
  };
}

/** @throws SoukError VALIDATION_FAILED if the results have no such table. */
async function tableOf(
  database: Database,
  { operation, batchId }: Batch,
  { format, table }: ResultsForm,
): Promise<ResultTable> {
  const found = queuedOperation(operation);
  const input = await sampleInput(database, batchId);
  const parsed = found ? parseStored(found, parseJson(input)) : {};
  const chosen = chooseTable(found ?? { name: operation }, parsed, table, 'ndjson, without table');
  if ('fault' in chosen) throw invalidParameters([chosen.fault]);
  return { of: 'batch', operation, table: chosen.name, format, input };
}

export interface BatchFileDeps {
  database: Database;
  clock: Clock;
  requireStorage: RequireStorage;
  tables: TableWriters;
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
  const { contentType, isCompressible, disposition, pieces } = await batchResults(deps, batch, form);
  const { accountId, batchId: originId, operation, finishedAt } = batch;
  const expiresAt = resultsEnd(batch) ?? finishedAt;
  return writtenFile(deps, {
    key: keyOf(batch, form),
    modifiedAt: finishedAt,
    contentType,
    isCompressible,
    pieces,
    of: { accountId, operation, originId, name: batchFileName(batch, form), expiresAt },
    send: (all) =>
      sendPieces(reply.headers({ ...disposition, 'x-batch-finished': 'true' }), all, { isCompressible }),
  });
}

/** A retry of failed items changes the time of the end. */
function keyOf({ batchId, finishedAt }: Batch, { format, table = '', order }: ResultsForm): string {
  return `batch/${batchId}/${finishedAt}/${table}.${format}/${order}`;
}

/** Bytes that are made of a result whenever a client wants all of them. */
interface Written extends Pick<Sendable, 'modifiedAt' | 'contentType' | 'isCompressible'> {
  /** Identifies the bytes. */
  key: string;
  pieces(): AsyncIterable<Buffer>;
  of: Pick<StoredFile, 'operation' | 'originId' | 'name' | 'expiresAt'> & { accountId: number };
  send(pieces: AsyncIterable<Buffer>): FastifyReply;
}

/** Files that this process writes, by key: requests for ranges often come several at a time. */
const writing = new Map<string, Promise<StoredFile>>();

function writtenFile(
  { database, clock, requireStorage }: BatchFileDeps,
  { key, modifiedAt, contentType, isCompressible, pieces, of, send }: Written,
): Sendable {
  return {
    tag: createHash('sha256').update(key).digest('base64url').slice(0, 24),
    modifiedAt,
    contentType,
    isCompressible,
    async parts() {
      const started = writing.get(key) ?? write().finally(() => writing.delete(key));
      writing.set(key, started);
      return partsOf(database, await started);
    },
    sendAll: () => send(pieces()),
  };

  async function write(): Promise<StoredFile> {
    const found = await findContent(database, key);
    if (!found) await requireStorage(of.accountId);
    const content = { key, contentType, isGzip: isCompressible, now: clock.now };
    const { contentId } = found ?? (await writeContent(database, content, pieces()));
    const file = await addFile(database, { ...of, contentId, createdAt: clock.now() });
    if (!file) throw new Error(`the content ${contentId} was deleted`);
    return file;
  }
}

/** Returns when the results of a batch are deleted, Unix milliseconds; null until it ends. */
export function resultsEnd(batch: Batch): number | null {
  const { resultsUntil } = batchView(batch);
  return resultsUntil === null ? null : Date.parse(resultsUntil);
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
