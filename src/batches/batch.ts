import { unixMs } from '../platform/db/columns.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import type { FeedWindow } from './request-schemas.ts';

export const BATCH_STATES = ['running', 'done', 'expired', 'cancelled'] as const;

export type BatchState = (typeof BATCH_STATES)[number];

/** How long results are kept after a batch has ended. */
export const RESULTS_LIFETIME_MS = 7 * 86_400_000;

/** Results of test accounts are free, so they are deleted earlier. */
export const TEST_RESULTS_LIFETIME_MS = 86_400_000;

/** A row of `batches` with the counts and units of its calls. Times are Unix milliseconds. */
export interface Batch {
  batchId: string;
  accountId: number;
  name: string | null;
  operation: string;
  /**
   * As shown to the customer. A batch that expired or was cancelled can still have calls under way until
   * `finishedAt`.
   */
  state: BatchState;
  window: FeedWindow;
  scheduleId: string | null;
  webhook: string | null;
  onlyChanges: boolean;
  /** The reason why no calls are fed at the moment. */
  waiting: { reason: string; until: number } | null;
  items: {
    total: number;
    done: number;
    failed: number;
    cancelled: number;
    /** Counted in `done`, and left out of the results because their content has not changed. */
    unchanged: number;
    running: number;
  };
  units: { quoted: number; reserved: number; charged: number };
  createdAt: number;
  deadlineAt: number;
  finishedAt: number | null;
}

/** Returns a batch of an account; null if the account has no such batch or its results have been deleted. */
export async function findBatch(
  database: Database,
  accountId: number,
  batchId: string,
): Promise<Batch | null> {
  const { rows } = await database.query<Batch>(`${SELECT_BATCHES} where b.account_id = $1 and b.id = $2`, [
    accountId,
    batchId,
  ]);
  return rows[0] ?? null;
}

/** Returns a batch of any account. */
export async function findBatchById(database: Queryable, batchId: string): Promise<Batch | null> {
  const { rows } = await database.query<Batch>(`${SELECT_BATCHES} where b.id = $1`, [batchId]);
  return rows[0] ?? null;
}

/** Lists batches of an account, the newest first. @param filter operations: only batches of these; null: of all. */
export async function listBatches(
  database: Database,
  accountId: number,
  filter: {
    operations: readonly string[] | null;
    state: BatchState | null;
    scheduleId: string | null;
    before: string | null;
    limit: number;
  },
): Promise<Batch[]> {
  const { rows } = await database.query<Batch>(
    // Ids are UUIDs of version 7, so they sort by time.
    `${SELECT_BATCHES}
     where b.account_id = $1 and ($2::uuid is null or b.id < $2) and ($3::text is null or b.state = $3)
       and ($4::uuid is null or b.schedule_id = $4) and ($6::text[] is null or b.operation = any($6))
     order by b.id desc limit $5`,
    [accountId, filter.before, filter.state, filter.scheduleId, filter.limit, filter.operations],
  );
  return rows;
}

const SELECT_BATCHES = `
  select b.id as "batchId", b.account_id as "accountId", b.name, b.operation, b.state, b.feed_window as window,
    b.schedule_id as "scheduleId", b.webhook, b.only_changes as "onlyChanges",
    case when b.waiting_reason is not null and b.waiting_until is not null and b.state = 'running' then
      json_build_object('reason', b.waiting_reason, 'until', ${unixMs('b.waiting_until')}) end as waiting,
    json_build_object('total', b.item_count, 'done', b.done_items, 'failed', b.failed_items,
      'cancelled', b.cancelled_items, 'unchanged', b.unchanged_items, 'running', coalesce(f.items, 0)) as items,
    json_build_object('quoted', b.units_quoted, 'reserved', coalesce(f.units, 0), 'charged', b.units_charged) as units,
    ${unixMs('b.created_at')} as "createdAt", ${unixMs('b.deadline_at')} as "deadlineAt",
    ${unixMs('b.finished_at')} as "finishedAt"
  from batches b
  left join lateral (
    select sum(c.item_count) as items, sum(c.units) filter (where not c.joined) as units
    from batch_calls c where c.batch_id = b.id and c.state = 'fed'
  ) as f on true`;
