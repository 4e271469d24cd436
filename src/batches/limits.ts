import { LRUCache } from 'lru-cache';
import type { ClientBase } from 'pg';
import { isTestAccount } from '../accounts/authentication.ts';
import { requireSecret } from '../outbox/webhooks/secrets.ts';
import {
  requireWebhookRoom,
  WEBHOOK_LIMITS,
  type WebhookLimits,
  webhookUrl,
} from '../outbox/webhooks/webhook-limits.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { SoukError } from '../platform/errors.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { storedBytes } from '../results/cache.ts';
import { BatchFaults } from './upload-text.ts';

/** How many batches that are not finished, how many schedules (those of trackers included), and how many bytes of results an account may have. */
export interface AccountLimits {
  openBatches: number;
  schedules: number;
  storedBytes: number;
}

export const ACCOUNT_LIMITS: AccountLimits = {
  openBatches: 100,
  schedules: 100,
  storedBytes: 2_147_483_648,
};

/** The most that a test account may have, because it is free; settings can only lower it. */
const TEST_LIMITS: AccountLimits = { openBatches: 5, schedules: 5, storedBytes: 16_777_216 };

/** Returns the limits of an account. @param limits those of the installation. */
export function limitsFor(accountId: number, limits: AccountLimits): AccountLimits {
  if (!isTestAccount(accountId)) return limits;
  return {
    openBatches: Math.min(limits.openBatches, TEST_LIMITS.openBatches),
    schedules: Math.min(limits.schedules, TEST_LIMITS.schedules),
    storedBytes: Math.min(limits.storedBytes, TEST_LIMITS.storedBytes),
  };
}

/** Answers of calls that were answered directly have a limit of their own: this part of the limit of stored bytes. */
const DIRECT_PART = 1 / 8;

/** Returns how many bytes of answers of calls that were answered directly an account may have for a day. */
export function directBytes(accountId: number, limits: AccountLimits): number {
  return Math.floor(limitsFor(accountId, limits).storedBytes * DIRECT_PART);
}

/** Counts the batches of an account that are not finished. No other process adds one until the caller's transaction ends. */
export async function countOpenBatches(client: ClientBase, accountId: number): Promise<number> {
  return countLocked(
    client,
    accountId,
    'select count(*) from batches where account_id = $1 and finished_at is null',
  );
}

/** Counts the schedules of an account, those of trackers included. No other process adds one until the caller's transaction ends. */
export async function countSchedules(client: ClientBase, accountId: number): Promise<number> {
  return countLocked(client, accountId, 'select count(*) from schedules where account_id = $1');
}

async function countLocked(client: ClientBase, accountId: number, query: string): Promise<number> {
  // A lock of its own, because admissions take the lock of the account.
  await client.query("select pg_advisory_xact_lock(hashtextextended('souk.account-limits', $1))", [
    accountId,
  ]);
  const { rows } = await client.query<{ count: number }>(query, [accountId]);
  return rows[0]?.count ?? 0;
}

/** @throws SoukError LIMIT_REACHED. */
export function requireBatchRoom(open: number, { openBatches: most }: AccountLimits): void {
  if (open >= most)
    throw limitReached(
      `The account has ${open} batches that are not finished; at most ${most} are allowed. Wait until one finishes, or cancel one.`,
      { limit: most, of: 'openBatches' },
    );
}

/** @throws SoukError LIMIT_REACHED. */
export function requireScheduleRoom(schedules: number, { schedules: most }: AccountLimits): void {
  if (schedules >= most)
    throw limitReached(
      `The account has ${schedules} schedules and trackers; at most ${most} are allowed. Delete one first.`,
      { limit: most, of: 'schedules' },
    );
}

function limitReached(message: string, metadata: { limit: number; of: string }): SoukError {
  return new SoukError('LIMIT_REACHED', { message, metadata, retryAfterSeconds: 60 });
}

interface StorageDeps {
  database: Queryable;
  redis: Redis;
  keys: RedisKeys;
}

/** Stored bytes are counted by hours, so an earlier retry rarely succeeds. */
const RETRY_SECONDS = 3_600;

/** How long a gateway remembers the stored bytes of an account, and of how many accounts. */
const REMEMBERED_MS = 10_000;
const MAX_REMEMBERED = 10_000;

/** @throws SoukError STORAGE_EXCEEDED. */
export type RequireStorage = (accountId: number) => Promise<void>;

/** Returns the bytes of an account's results: answers that it may poll, in Redis, and results of batches and files, in PostgreSQL. */
export async function storedByAccount(
  { database, redis, keys }: StorageDeps,
  accountId: number,
): Promise<number> {
  const [answers, { rows }] = await Promise.all([
    storedBytes(redis, keys, accountId),
    database.query<{ bytes: number }>({
      name: 'result-bytes',
      text: `select coalesce((select sum(result_bytes) from batches where account_id = $1), 0)::bigint
          + coalesce((select sum(stored_bytes) from files f join file_contents c on c.id = f.content_id
              where f.account_id = $1), 0)::bigint as bytes`,
      values: [accountId],
    }),
  ]);
  return answers + Number(rows[0]?.bytes ?? 0);
}

/** @throws SoukError STORAGE_EXCEEDED. */
export async function requireStorage(
  deps: StorageDeps,
  accountId: number,
  limits: AccountLimits,
): Promise<void> {
  refuseBeyond(limits, await storedByAccount(deps, accountId));
}

/** Creates the check of a gateway. It adds up the bytes of an account at most once in ten seconds, however many calls it makes. */
export function createStorageCheck(deps: StorageDeps, limits: AccountLimits, clock: Clock): RequireStorage {
  const remembered = new LRUCache<number, number>({
    max: MAX_REMEMBERED,
    ttl: REMEMBERED_MS,
    ttlResolution: 0,
    perf: { now: clock.now },
    fetchMethod: (accountId) => storedByAccount(deps, accountId),
  });
  return async (accountId) =>
    refuseBeyond(limitsFor(accountId, limits), await remembered.forceFetch(accountId));
}

function refuseBeyond({ storedBytes: limit }: AccountLimits, stored: number): void {
  if (stored < limit) return;
  throw new SoukError('STORAGE_EXCEEDED', {
    message: `The account has ${stored} bytes of stored results; at most ${limit} are allowed. Results of jobs expire after a day, those of batches 7 days after the end of the batch.`,
    metadata: { limit, stored },
    retryAfterSeconds: RETRY_SECONDS,
  });
}

export interface WebhookSettings {
  /** The setting WEBHOOK_ALLOW_PRIVATE. */
  allowPrivate: boolean;
  /** Default: `WEBHOOK_LIMITS`. */
  limits?: WebhookLimits;
}

/**
 * Returns the address of a webhook in its normal form.
 * @throws BatchFaults if it is not allowed; SoukError VALIDATION_FAILED if the account has no secret to sign with.
 */
export async function checkedWebhook(
  { database, webhooks }: { database: Database; webhooks: WebhookSettings },
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
