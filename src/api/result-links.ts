import type { FastifyReply } from 'fastify';
import { batchFileName, findBatch } from '../batches/batch.ts';
import { findCall } from '../billing/calls.ts';
import { TABLE_FORMAT_NAMES, type TableFormat } from '../operations/tables/formats.ts';
import { fromRecord, SoukError } from '../platform/errors.ts';
import { type AnswerStore, OWN_ANSWER } from '../results/answer-store.ts';
import { JOB_LIFETIME_MS, POLL_LIFETIME_MS } from '../results/cache.ts';
import { findFile } from '../results/files.ts';
import type { LinkTarget } from '../results/result-links.ts';
import {
  answerFile,
  type BatchFileDeps,
  batchFile,
  batchResults,
  extensionOf,
  type JobForm,
  jobTable,
  jobTableFile,
  resultsEnd,
  storedFile,
} from './result-files.ts';
import type { Sendable } from './send-file.ts';

export interface ResultDeps extends BatchFileDeps {
  answers: AnswerStore;
}

/** The result that a link opens. */
interface LinkedResult {
  operation: string;
  format: string | null;
  /** The name of the file. */
  name: string;
  /** When the result is deleted; Unix milliseconds. */
  endsAt: number;
  sendable(reply: FastifyReply): Promise<Sendable>;
}

/**
 * Returns a result of an account.
 * @throws SoukError JOB_NOT_FOUND, BATCH_NOT_FOUND, FILE_NOT_FOUND, RESULT_NOT_READY, RESULT_EXPIRED or VALIDATION_FAILED, or the error
 * with which the job ended.
 */
export function linkedResult(
  deps: ResultDeps,
  account: { accountId: number },
  { target, id, format }: { target: LinkTarget; id: string; format?: string | null | undefined },
): Promise<LinkedResult> {
  const form = format == null ? {} : formOf(format);
  if (target === 'job') return jobResult(deps, account, id, form);
  if (target === 'batch')
    return batchResult(deps, account, id, { format: 'ndjson', table: undefined, ...form });
  return fileResult(deps, account, id);
}

/** Reads the form of results, such as `csv` or `history.csv`. */
function formOf(text: string): { format: TableFormat; table: string | undefined } {
  const [last = '', table] = text.split('.').reverse();
  return { format: TABLE_FORMAT_NAMES.find((one) => one === last) ?? 'ndjson', table };
}

async function jobResult(
  deps: ResultDeps,
  { accountId }: { accountId: number },
  callId: string,
  form: JobForm,
): Promise<LinkedResult> {
  const { database, clock, answers } = deps;
  const call = await findCall(database, accountId, callId);
  if (!call || clock.now() - call.acceptedAt > JOB_LIFETIME_MS) throw new SoukError('JOB_NOT_FOUND');
  const endsAt = call.acceptedAt + POLL_LIFETIME_MS;
  if (call.error) throw fromRecord(call.error);
  if (call.state === 'reserved') throw new SoukError('RESULT_NOT_READY');
  if (endsAt <= clock.now()) throw new SoukError('RESULT_EXPIRED');
  // The answer of a call that was not made as a job may be kept for some minutes only.
  await answers.keepGiven({ accountId, callId }, call.answer);
  const stored = await answers.load(callId, call.answer ?? OWN_ANSWER);
  if (!stored) throw new SoukError('RESULT_EXPIRED');
  const { operation } = call;
  const { fileName, contentType } = stored.meta;
  const table = jobTable(call, stored.meta, form, 'left out, without table');
  if (table) {
    const { name, fileOf } = jobTableFile(deps, call, stored, table);
    const format = `${table.table}.${table.format}`;
    return { operation, format, name, endsAt, sendable: async (reply) => fileOf(reply) };
  }
  const name = fileName ?? `souk-${operation}-${callId.slice(-12)}.${extensionOf(contentType)}`;
  const facts = { unitsConsumed: 0 };
  return {
    operation,
    format: null,
    name,
    endsAt,
    sendable: async (reply) => answerFile(reply, stored, facts),
  };
}

async function batchResult(
  deps: ResultDeps,
  { accountId }: { accountId: number },
  batchId: string,
  { format, table }: { format: TableFormat; table: string | undefined },
): Promise<LinkedResult> {
  const batch = await findBatch(deps.database, accountId, batchId);
  if (!batch) throw new SoukError('BATCH_NOT_FOUND');
  const { operation, finishedAt } = batch;
  const endsAt = resultsEnd(batch);
  if (finishedAt === null || endsAt === null) throw new SoukError('RESULT_NOT_READY');
  const form = { format, table, order: 'item', cursor: null } as const;
  // A link to a table that the results lack is refused.
  await batchResults(deps, batch, form);
  return {
    operation,
    format: table === undefined ? format : `${table}.${format}`,
    name: batchFileName(batch, form),
    endsAt,
    sendable: (reply) => batchFile(deps, reply, { ...batch, finishedAt }, form),
  };
}

async function fileResult(
  { database, clock }: ResultDeps,
  { accountId }: { accountId: number },
  fileId: string,
): Promise<LinkedResult> {
  const file = await findFile(database, accountId, fileId, clock.now());
  if (!file) throw new SoukError('FILE_NOT_FOUND');
  const { operation, name, expiresAt: endsAt } = file;
  return {
    operation,
    format: null,
    name,
    endsAt,
    sendable: async (reply) => storedFile(reply, database, file),
  };
}
