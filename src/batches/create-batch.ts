import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { requireKeyFor } from '../accounts/account-keys.ts';
import { isTestAccount } from '../accounts/authentication.ts';
import { checkMaxUnits } from '../billing/admission.ts';
import { type OffPeakWindow, offPeakOpening } from '../billing/wallets.ts';
import { TEST_POOL } from '../operations/pools.ts';
import { iso, type ServiceClock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { ERRORS, SoukError } from '../platform/errors.ts';
import { fingerprint } from '../platform/fingerprint.ts';
import { stringifyJson } from '../platform/json.ts';
import type { Stores } from '../platform/stores.ts';
import { okBody } from '../results/envelope.ts';
import { batchView, findBatch } from './batch.ts';
import { type BundledCall, bundleAll } from './bundle.ts';
import {
  ACCOUNT_LIMITS,
  type AccountLimits,
  checkedWebhook,
  countOpenBatches,
  limitsFor,
  requireBatchRoom,
  requireStorage,
  type WebhookSettings,
} from './limits.ts';
import { type Pause, workerPauses } from './pauses.ts';
import {
  type BatchRequest,
  type BatchSettings,
  DEFAULT_TIME_MS,
  type FeedWindow,
  LONGEST_TIME_MS,
  readBatch,
  type Upload,
} from './read-batch.ts';
import { BatchFaults } from './upload-text.ts';
import { answerUpload, type BatchJob, type Reply, requireWaiting } from './uploads.ts';

export interface PrepareDeps extends Pick<Stores, 'database' | 'redis' | 'keys' | 'log'> {
  offPeak: OffPeakWindow;
  webhooks: WebhookSettings;
  /** Default: `ACCOUNT_LIMITS`. */
  accountLimits?: AccountLimits | undefined;
  clock: ServiceClock;
}

type BatchUpload = Extract<BatchJob, { kind: 'batch' }>;

/** Creates a batch from an upload and replies to the request that sent it. */
export async function prepareBatch(deps: PrepareDeps, upload: BatchUpload): Promise<void> {
  await answerUpload(deps, upload.uploadId, async (body) => {
    const content: Upload =
      upload.upload === 'json' ? { type: 'json', body } : { type: 'ndjson', body, query: upload.query };
    const pause = workerPauses();
    const request = await readBatch(content, pause, deps.clock.now());
    const { idempotencyKey } = request.settings;
    await requireKeyFor(deps.database, upload.keyId, request.operation, deps.clock.now());
    const requestHash = await hashOf(request, pause);
    if (idempotencyKey !== null && !upload.dryRun) {
      // This comes before the check of the deadline, so that a repeated request gets the same answer after the deadline, too.
      const earlier = await findRepeated(deps.database, upload.accountId, idempotencyKey, requestHash);
      if (earlier !== null) return accepted(deps.database, upload.accountId, earlier);
    }
    const webhook = await checkedWebhook(deps, upload.accountId, request.settings.webhook, 'webhook');
    const { calls, units } = await bundleAll(request.operation, request.items, pause);
    const deadlineAt = await deadlineOf(deps, request.settings);
    checkMaxUnits('The batch can cost up to', units, request.settings.maxUnits);
    if (upload.dryRun) return dryRunReply(deps, upload, request, { calls: calls.length, units });
    const settings = { ...request.settings, webhook };
    return create(deps, upload, { ...request, settings }, calls, deadlineAt, requestHash);
  });
}

/** @throws BatchFaults. */
async function deadlineOf({ database, offPeak, clock }: PrepareDeps, { deadlineAt, window }: BatchSettings) {
  const now = clock.now();
  const fault = (problem: string) => new BatchFaults([{ parameter: 'deadline', problem }]);
  if (deadlineAt === null) return now + DEFAULT_TIME_MS;
  if (deadlineAt <= now) throw fault(`must be after the present time, ${iso(now)}`);
  if (deadlineAt > now + LONGEST_TIME_MS)
    throw fault(`must be at most 30 days away, at ${iso(now + LONGEST_TIME_MS)}`);
  if (window !== 'off_peak') return deadlineAt;
  const { isOpen, opensAt } = await offPeakOpening(database, offPeak, now);
  if (isOpen || opensAt < deadlineAt) return deadlineAt;
  throw fault(
    `contradicts window: the off-peak window opens at ${iso(opensAt)}, after the deadline ${iso(deadlineAt)}`,
  );
}

/** Returns the price of a batch, and whether the account has room for it now. */
async function dryRunReply(
  deps: PrepareDeps,
  { accountId }: BatchUpload,
  { operation, items }: BatchRequest,
  price: { calls: number; units: number },
): Promise<Reply> {
  const refusal = await inTransaction(deps.database, async (client) => {
    const open = await countOpenBatches(client, accountId);
    return requireRoom(deps, client, accountId, open).then(
      () => null,
      (error: unknown) => {
        if (error instanceof SoukError) return error;
        throw error;
      },
    );
  });
  const data = {
    dryRun: true,
    operation: operation.name,
    items: items.length,
    ...price,
    admitted: refusal === null,
    rejectReason: refusal && ERRORS[refusal.kind].code,
    rejectMessage: refusal?.message ?? null,
  };
  return { status: 200, location: null, body: okBody(data) };
}

/** @param open batches of the account. @throws SoukError LIMIT_REACHED or STORAGE_EXCEEDED. */
async function requireRoom(
  { redis, keys, accountLimits = ACCOUNT_LIMITS }: PrepareDeps,
  client: ClientBase,
  accountId: number,
  open: number,
): Promise<void> {
  const limits = limitsFor(accountId, accountLimits);
  requireBatchRoom(open, limits);
  await requireStorage({ database: client, redis, keys }, accountId, limits);
}

async function create(
  deps: PrepareDeps,
  { uploadId, accountId, keyId }: BatchUpload,
  { operation, settings }: BatchRequest,
  calls: readonly BundledCall[],
  deadlineAt: number,
  requestHash: Buffer,
): Promise<Reply> {
  const { database, redis, keys, clock } = deps;
  const { name, window, webhook, idempotencyKey } = settings;
  // Without an idempotency key, only the same upload counts as a repetition.
  const key = idempotencyKey ?? `upload ${uploadId}`;
  const batch: NewBatch = {
    // The id of the upload, so that an upload that is read twice creates one batch.
    batchId: uploadId,
    accountId,
    keyId,
    name,
    operation: operation.name,
    window,
    webhook,
    idempotencyKey: key,
    requestHash,
    scheduleId: null,
    onlyChanges: false,
    createdAt: clock.now(),
    deadlineAt,
  };
  const isNew = await inTransaction(database, async (client) => {
    const open = await countOpenBatches(client, accountId);
    if ((await findRepeated(client, accountId, key, requestHash)) !== null) return false;
    await requireRoom(deps, client, accountId, open);
    const inserted = await insertBatch(client, batch, calls);
    await requireWaiting(redis, keys, uploadId);
    return inserted;
  });
  await redis.publish(keys.batchesChannel, uploadId);
  const earlier = isNew ? null : await findRepeated(database, accountId, key, requestHash);
  return accepted(database, accountId, earlier ?? uploadId);
}

async function accepted(database: Database, accountId: number, batchId: string): Promise<Reply> {
  const created = await findBatch(database, accountId, batchId);
  if (!created) throw new SoukError('BATCH_NOT_FOUND');
  const view = batchView(created);
  return { status: 202, location: view.links.self, body: okBody(view, 'accepted') };
}

/**
 * Returns the id of the batch that the same request has created; null if there is none yet.
 * @throws SoukError IDEMPOTENCY_CONFLICT if the key was used for another request.
 */
async function findRepeated(
  database: Queryable,
  accountId: number,
  idempotencyKey: string,
  requestHash: Buffer,
): Promise<string | null> {
  const { rows } = await database.query<{ id: string; hash: Buffer }>(
    'select id, request_hash as hash from batches where account_id = $1 and idempotency_key = $2',
    [accountId, idempotencyKey],
  );
  const [earlier] = rows;
  if (!earlier) return null;
  if (earlier.hash.equals(requestHash)) return earlier.id;
  throw new SoukError('IDEMPOTENCY_CONFLICT');
}

/**
 * Identifies what a request asks for: the hash does not depend on the names and the order of parameters, on whether
 * defaults are stated, or on the form of the body (lines or a document). Without an idempotency key, it does not depend on the items.
 */
async function hashOf({ operation, settings, items }: BatchRequest, pause: Pause): Promise<Buffer> {
  const hash = createHash('sha256').update(fingerprint(operation.name, settings));
  if (settings.idempotencyKey === null) return hash.digest();
  for (const { input } of items) {
    hash.update(fingerprint(input));
    await pause();
  }
  return hash.digest();
}

/** A batch to be inserted. Times are Unix milliseconds. */
interface NewBatch {
  /** UUID of version 7. */
  batchId: string;
  accountId: number;
  /** The key for which its calls count; null: none, or a key of the pages. */
  keyId: number | null;
  name: string | null;
  operation: string;
  window: FeedWindow;
  webhook: string | null;
  idempotencyKey: string | null;
  /** Hash of what the request asks for: detects an idempotency key that is used for another request. */
  requestHash: Buffer;
  scheduleId: string | null;
  onlyChanges: boolean;
  createdAt: number;
  deadlineAt: number;
}

/** The number of calls that one statement inserts. Together they have a few hundred KB of items. */
const ROWS_PER_STATEMENT = 500;

/**
 * Inserts a batch and its calls in the caller's transaction.
 * @returns false if the account already has a batch with this idempotency key; then nothing is written.
 */
export async function insertBatch(
  client: ClientBase,
  batch: NewBatch,
  calls: readonly BundledCall[],
): Promise<boolean> {
  const itemCount = calls.reduce((sum, { items }) => sum + items.length, 0);
  const units = calls.reduce((sum, call) => sum + call.units, 0);
  const { rowCount } = await client.query(
    `insert into batches (id, account_id, name, operation, state, feed_window, item_count, units_quoted, webhook,
       idempotency_key, request_hash, schedule_id, only_changes, created_at, deadline_at, key_id)
     values ($1, $2, $3, $4, 'running', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
     on conflict (account_id, idempotency_key) where idempotency_key is not null do nothing`,
    [
      batch.batchId,
      batch.accountId,
      batch.name,
      batch.operation,
      batch.window,
      itemCount,
      units,
      batch.webhook,
      batch.idempotencyKey,
      batch.requestHash,
      batch.scheduleId,
      batch.onlyChanges,
      new Date(batch.createdAt),
      new Date(batch.deadlineAt),
      batch.keyId,
    ],
  );
  if (rowCount === 0) return false;
  await deleteOldFreeBatches(client, batch.accountId);
  for (let i = 0; i < calls.length; i += ROWS_PER_STATEMENT) {
    await insertCalls(client, batch, calls.slice(i, i + ROWS_PER_STATEMENT));
  }
  return true;
}

/**
 * The most ended batches without charge, such as cancelled ones, that are kept for an account. Without this limit, an
 * account could store any number of items.
 */
export const FREE_BATCHES_KEPT = 100;

/** A limit on each statement, because a batch can have 100,000 calls. */
const FREE_BATCHES_DELETED = 2;

async function deleteOldFreeBatches(client: ClientBase, accountId: number): Promise<void> {
  await client.query(
    `delete from batches where id in (
       select id from batches where account_id = $1 and finished_at is not null and units_charged = 0
       order by id desc offset $2 limit $3 for update skip locked)`,
    [accountId, FREE_BATCHES_KEPT, FREE_BATCHES_DELETED],
  );
}

/** Adds calls to a batch. Those of a test account run in the pool of test calls. */
export async function insertCalls(
  client: ClientBase,
  { batchId, accountId }: { batchId: string; accountId: number },
  calls: readonly BundledCall[],
): Promise<void> {
  await client.query(
    `insert into batch_calls (batch_id, first_item, item_count, pool, units, items, input)
     select $1, * from unnest($2::integer[], $3::integer[], $4::text[], $5::integer[], $6::text[], $7::text[])`,
    [
      batchId,
      calls.map(({ firstItem }) => firstItem),
      calls.map(({ items }) => items.length),
      calls.map(({ pool }) => (isTestAccount(accountId) ? TEST_POOL : pool)),
      calls.map(({ units }) => units),
      calls.map(({ items }) => stringifyJson(items)),
      calls.map(({ input }) => stringifyJson(input)),
    ],
  );
}
