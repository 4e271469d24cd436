import type { Database } from '../platform/db/pool.ts';

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A delivery as its account sees it. */
export interface Delivery {
  /** Receivers get it as `webhook-id`. */
  id: string;
  type: string;
  url: string;
  state: DeliveryState;
  attempts: number;
  nextAttemptAt: Date | null;
  lastStatus: number | null;
  lastError: string | null;
  createdAt: Date;
  finishedAt: Date | null;
}

export interface Attempt {
  number: number;
  at: Date;
  status: number | null;
  error: string | null;
  durationMs: number;
  response: string | null;
}

/** How long a delivery stays in the log after it was created, or until it has ended. */
export const KEPT_DAYS = 30;

/** How many deliveries of an account stay in the log, besides pending ones. */
export const KEPT_PER_ACCOUNT = 100_000;

export const TEST_TYPE = 'webhook.test';

/** How many tests of an account stay in the log, because they cost nothing. */
export const TESTS_KEPT = 100;

const PURGE_BATCH = 1_000;

const COLUMNS = `id, type, url, state, attempts, next_attempt_at as "nextAttemptAt", last_status as "lastStatus",
  last_error as "lastError", created_at as "createdAt", finished_at as "finishedAt"`;

/**
 * Returns a page of an account's deliveries, the newest first. @param before the id of the last delivery of the
 * previous page.
 */
export async function listDeliveries(
  database: Database,
  accountId: number,
  { state, before, limit }: { state: DeliveryState | null; before: string | null; limit: number },
): Promise<Delivery[]> {
  const { rows } = await database.query<Delivery>(
    `select ${COLUMNS} from webhook_deliveries
     where account_id = $1 ${state ? 'and state = $4' : ''} ${before ? 'and id < $3' : 'and $3::uuid is null'}
     order by id desc limit $2`,
    [accountId, limit, before, ...(state ? [state] : [])],
  );
  return rows;
}

/** Returns a delivery with its body and the attempts that are kept, in their order. */
export async function findDelivery(
  database: Database,
  accountId: number,
  id: string,
): Promise<(Delivery & { payload: string; log: Attempt[] }) | null> {
  const { rows: found } = await database.query<Delivery & { payload: string }>(
    `select ${COLUMNS}, payload from webhook_deliveries where account_id = $1 and id = $2`,
    [accountId, id],
  );
  if (!found[0]) return null;
  const { rows: log } = await database.query<Attempt>(
    `select number, at, status, error, duration_ms as "durationMs", response from webhook_attempts
     where delivery_id = $1 order by number`,
    [id],
  );
  return { ...found[0], log };
}

/**
 * Sends a delivery again at once, with the same body and the same id, by which receivers recognise it. If the
 * delivery has ended, its schedule of retries restarts; if it is pending, its next attempt is due now.
 * @returns null if the account has no such delivery.
 */
export async function replayDelivery(
  database: Database,
  accountId: number,
  id: string,
  now: number,
): Promise<Delivery | null> {
  const { rows } = await database.query<Delivery>(
    `update webhook_deliveries set state = 'pending', finished_at = null, next_attempt_at = $3,
       retries = case when state = 'pending' then retries else 0 end
     where account_id = $1 and id = $2 returning ${COLUMNS}`,
    [accountId, id, new Date(now)],
  );
  return rows[0] ?? null;
}

/** Counts the pending tests of an account. */
export async function countPendingTests(database: Database, accountId: number): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*) from webhook_deliveries where account_id = $1 and state = 'pending' and type = '${TEST_TYPE}'`,
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/** Deletes the ended tests of an account before its newest TESTS_KEPT. */
export async function deleteOldTests(database: Database, accountId: number): Promise<void> {
  await database.query(
    `delete from webhook_deliveries where state <> 'pending' and id in (
       select id from webhook_deliveries where account_id = $1 and type = '${TEST_TYPE}' order by id desc offset $2)`,
    [accountId, TESTS_KEPT],
  );
}

/** Deletes ended deliveries: those that are older than KEPT_DAYS, and those of an account before its newest ones. */
export async function purgeDeliveries(
  database: Database,
  now: number,
  keptPerAccount = KEPT_PER_ACCOUNT,
): Promise<void> {
  await deleteEnded(database, 'created_at < $2', [new Date(now - KEPT_DAYS * 86_400_000)]);
  const { rows } = await database.query<{ id: number }>(
    `with recursive holders (id) as (
       (select account_id from webhook_deliveries order by account_id limit 1)
       union all
       select n.account_id from holders h cross join lateral (
         select d.account_id from webhook_deliveries d where d.account_id > h.id order by d.account_id limit 1) as n)
     select id from holders`,
  );
  for (const { id: accountId } of rows) {
    const { rows: beyond } = await database.query<{ id: string }>(
      'select id from webhook_deliveries where account_id = $1 order by id desc offset $2 limit 1',
      [accountId, keptPerAccount],
    );
    if (beyond[0]) await deleteEnded(database, 'account_id = $2 and id <= $3', [accountId, beyond[0].id]);
  }
}

async function deleteEnded(database: Database, condition: string, values: readonly unknown[]): Promise<void> {
  for (;;) {
    const { rowCount } = await database.query(
      `delete from webhook_deliveries where id in (
         select id from webhook_deliveries where state <> 'pending' and ${condition} limit $1)`,
      [PURGE_BATCH, ...values],
    );
    if ((rowCount ?? 0) < PURGE_BATCH) return;
  }
}
