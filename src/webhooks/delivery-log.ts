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

/** How long a delivery stays in the log after it has ended. */
export const KEPT_DAYS = 30;

/** A delivery that was replayed many times shows its latest attempts only. */
const ATTEMPTS_SHOWN = 50;

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

/** Returns a delivery with its body and its latest attempts, in their order. */
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
     where delivery_id = $1 order by number desc limit $2`,
    [id, ATTEMPTS_SHOWN],
  );
  return { ...found[0], log: log.reverse() };
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

/** Counts the pending deliveries of one type of an account. */
export async function countPending(database: Database, accountId: number, type: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*) from webhook_deliveries where account_id = $1 and state = 'pending' and type = $2`,
    [accountId, type],
  );
  return rows[0]?.count ?? 0;
}

/** Deletes deliveries that ended more than KEPT_DAYS ago. */
export async function purgeDeliveries(database: Database, now: number): Promise<void> {
  const before = new Date(now - KEPT_DAYS * 86_400_000);
  for (;;) {
    const { rowCount } = await database.query(
      `delete from webhook_deliveries where id in (
         select id from webhook_deliveries where state <> 'pending' and finished_at < $1 limit $2)`,
      [before, PURGE_BATCH],
    );
    if ((rowCount ?? 0) < PURGE_BATCH) return;
  }
}
