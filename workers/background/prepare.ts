import { setImmediate as nextImmediate } from 'node:timers/promises';
import type { BatchJob } from '../../jobs/batch-queue.ts';
import type { Reports } from '../../jobs/mode.ts';
import { dropUpload, getUpload, type Reply, sendReply } from '../../jobs/replies.ts';
import { requireKeyFor } from '../../src/accounts/key-standing.ts';
import {
  ACCOUNT_LIMITS,
  type AccountLimits,
  countOpenBatches,
  limitsFor,
  requireBatchRoom,
} from '../../src/batches/account-limits.ts';
import { findBatch } from '../../src/batches/batch.ts';
import { BatchFaults } from '../../src/batches/batch-faults.ts';
import { insertBatch, isKnown, type NewBatch } from '../../src/batches/create.ts';
import { type Item, type PackedCall, packItems } from '../../src/batches/pack.ts';
import {
  type BatchRequest,
  type BatchSettings,
  DEFAULT_TIME_MS,
  LONGEST_TIME_MS,
  readBatch,
  type Upload,
} from '../../src/batches/request.ts';
import { hashOf } from '../../src/batches/request-hash.ts';
import { requireStorage } from '../../src/batches/storage-limit.ts';
import { batchView } from '../../src/batches/view.ts';
import { offPeakOpening } from '../../src/billing/off-peak.ts';
import type { OffPeakWindow } from '../../src/billing/wallets.ts';
import type { QueuedOperation } from '../../src/operations/define.ts';
import type { ServiceClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { ERRORS, SoukError } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/log.ts';
import type { Redis } from '../../src/platform/redis.ts';
import type { RedisKeys } from '../../src/platform/redis-keys.ts';
import { errorBody, okBody } from '../../src/results/envelope.ts';
import { requireSecret } from '../../src/webhooks/secrets.ts';
import { requireWebhookRoom, WEBHOOK_LIMITS, type WebhookLimits } from '../../src/webhooks/webhook-limits.ts';
import { webhookUrl } from '../../src/webhooks/webhook-url.ts';

export interface PrepareDeps {
  database: Database;
  reports: Reports;
  redis: Redis;
  keys: RedisKeys;
  offPeak: OffPeakWindow;
  webhooks: { allowPrivate: boolean; limits?: WebhookLimits };
  /** Default: `ACCOUNT_LIMITS`. */
  accountLimits?: AccountLimits | undefined;
  clock: ServiceClock;
  log: Logger;
}

type BatchUpload = Extract<BatchJob, { kind: 'batch' }>;

/** Creates a batch from an upload and replies to the request that sent it. */
export async function prepareBatch(deps: PrepareDeps, upload: BatchUpload): Promise<void> {
  await answerUpload(deps, upload.uploadId, async (body) => {
    const content: Upload =
      upload.upload === 'json' ? { type: 'json', body } : { type: 'ndjson', body, query: upload.query };
    const request = await readBatch(content, yieldToEvents, deps.clock.now());
    const { idempotencyKey } = request.settings;
    await requireKeyFor(deps.database, upload.keyId, request.operation, deps.clock.now());
    const requestHash = await hashOf(request, yieldToEvents);
    if (idempotencyKey !== null && !upload.dryRun) {
      // This comes before the check of the deadline, so that a repeated request gets the same answer after the deadline, too.
      const earlier = await findRepeated(deps.database, upload.accountId, idempotencyKey, requestHash);
      if (earlier !== null) return accepted(deps.database, upload.accountId, earlier);
    }
    const webhook = await checkedWebhook(deps, upload.accountId, request.settings.webhook, 'webhook');
    const calls = await packedCalls(request.operation, request.items);
    const deadlineAt = await deadlineOf(deps, request.settings);
    const units = unitsOf(calls);
    checkMaxUnits(units, request.settings.maxUnits);
    if (upload.dryRun) return dryRunReply(request, calls);
    const settings = { ...request.settings, webhook };
    return create(deps, upload, { ...request, settings }, calls, deadlineAt, requestHash);
  });
}

/**
 * Replies to an upload with the result of `make`, or with the error it throws.
 * @throws errors that are not the customer's fault; then the queue tries again.
 */
export async function answerUpload(
  { redis, keys, log }: PrepareDeps,
  uploadId: string,
  make: (body: string) => Promise<Reply>,
): Promise<void> {
  const body = await getUpload(redis, keys, uploadId);
  // The request has timed out, or already has its reply.
  if (body === null) return;
  let reply: Reply;
  try {
    reply = await make(body);
  } catch (error) {
    const known = toRefusal(error);
    if (!known) {
      log.error({ err: error, uploadId }, 'upload failed');
      throw error;
    }
    const { retryAfterSeconds } = known;
    reply = { status: ERRORS[known.kind].status, location: null, retryAfterSeconds, body: errorBody(known) };
  }
  await sendReply(redis, keys, uploadId, reply);
  await dropUpload(redis, keys, uploadId);
}

/** Replies INTERNAL to an upload after its last attempt has failed. */
export async function answerFailure({ redis, keys }: PrepareDeps, uploadId: string): Promise<void> {
  const error = new SoukError('INTERNAL');
  const reply = { status: ERRORS.INTERNAL.status, location: null, body: errorBody(error) };
  await sendReply(redis, keys, uploadId, reply);
  await dropUpload(redis, keys, uploadId);
}

/** Yields to the event loop, so that the process can do other work. */
export async function yieldToEvents(): Promise<void> {
  await nextImmediate();
}

const CALLS_BETWEEN_YIELDS = 10;

export async function packedCalls(operation: QueuedOperation, items: readonly Item[]): Promise<PackedCall[]> {
  const calls: PackedCall[] = [];
  for (const call of packItems(operation, items)) {
    calls.push(call);
    if (calls.length % CALLS_BETWEEN_YIELDS === 0) await yieldToEvents();
  }
  return calls;
}

export function unitsOf(calls: readonly PackedCall[]): number {
  return calls.reduce((sum, { units }) => sum + units, 0);
}

/**
 * Returns the address of a webhook in its normal form.
 * @throws BatchFaults if it is not allowed; SoukError VALIDATION_FAILED if the account has no secret to sign with.
 */
export async function checkedWebhook(
  { database, webhooks }: PrepareDeps,
  accountId: number,
  webhook: string | null,
  parameter: string,
): Promise<string | null> {
  if (webhook === null) return null;
  const checked = webhookUrl(webhooks.allowPrivate).safeParse(webhook);
  if (!checked.success)
    throw new BatchFaults(checked.error.issues.map(({ message }) => ({ parameter, problem: message })));
  await requireSecret(database, accountId, parameter);
  await requireWebhookRoom(database, { accountId, url: checked.data }, webhooks.limits ?? WEBHOOK_LIMITS);
  return checked.data;
}

/** @throws SoukError QUOTA_MAX_UNITS. */
export function checkMaxUnits(needed: number, maxUnits: number | null): void {
  if (maxUnits === null || needed <= maxUnits) return;
  throw new SoukError('QUOTA_MAX_UNITS', {
    message: `The batch can cost up to ${needed} units; maxUnits is ${maxUnits}.`,
    metadata: { needed, maxUnits },
  });
}

/** @throws BatchFaults. */
async function deadlineOf(
  { database, offPeak, clock }: PrepareDeps,
  { deadlineAt, window }: BatchSettings,
): Promise<number> {
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

function dryRunReply({ operation, items }: BatchRequest, calls: readonly PackedCall[]): Reply {
  const data = {
    dryRun: true,
    operation: operation.name,
    items: items.length,
    calls: calls.length,
    units: unitsOf(calls),
    admitted: true,
  };
  return { status: 200, location: null, body: okBody(data) };
}

async function create(
  { database, redis, keys, clock, accountLimits = ACCOUNT_LIMITS }: PrepareDeps,
  { uploadId, accountId, keyId }: BatchUpload,
  { operation, settings }: BatchRequest,
  calls: readonly PackedCall[],
  deadlineAt: number,
  requestHash: Buffer,
): Promise<Reply> {
  const { name, window, webhook, idempotencyKey } = settings;
  const batch: NewBatch = {
    // The id of the upload, so that an upload that is read twice creates one batch.
    batchId: uploadId,
    ...{ accountId, keyId },
    name,
    operation: operation.name,
    window,
    webhook,
    // Without an idempotency key, only the same upload counts as a repetition.
    idempotencyKey: idempotencyKey ?? `upload ${uploadId}`,
    requestHash,
    scheduleId: null,
    onlyChanges: false,
    createdAt: clock.now(),
    deadlineAt,
  };
  const isNew = await inTransaction(database, async (client) => {
    const open = await countOpenBatches(client, accountId);
    if (await isKnown(client, batch)) return false;
    const limits = limitsFor(accountId, accountLimits);
    requireBatchRoom(open, limits);
    await requireStorage({ database: client, redis, keys }, accountId, limits);
    return insertBatch(client, batch, calls);
  });
  await redis.publish(keys.batchesChannel, uploadId);
  const earlier = isNew
    ? null
    : await findRepeated(database, accountId, batch.idempotencyKey ?? '', requestHash);
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
  database: Database,
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

/** The message lists this many faults; the metadata has all of them. */
const FAULTS_IN_MESSAGE = 5;

/** Returns the error to reply with; null if it is not the customer's fault. */
function toRefusal(error: unknown): SoukError | null {
  if (error instanceof SoukError) return error;
  const faults = error instanceof BatchFaults ? error.faults : null;
  if (!faults) return null;
  const listed = faults
    .slice(0, FAULTS_IN_MESSAGE)
    .map(({ index, parameter, problem }) =>
      index === undefined ? `${parameter}: ${problem}` : `items[${index}].${parameter}: ${problem}`,
    );
  const more = faults.length > listed.length ? [`and ${faults.length - listed.length} more`] : [];
  return new SoukError('VALIDATION_FAILED', {
    message: [...listed, ...more].join('; '),
    metadata: { errors: faults },
  });
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
