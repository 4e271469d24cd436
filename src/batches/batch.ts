import type { Database } from '../platform/db/pool.ts';
import type { FeedWindow } from './request-schemas.ts';

export const BATCH_STATES = ['running', 'done', 'expired', 'cancelled'] as const;

export type BatchState = (typeof BATCH_STATES)[number];

/** How long results are kept after a batch has ended. */
export const RESULTS_LIFETIME_MS = 7 * 86_400_000;

/** A batch as the database knows it. Times are Unix milliseconds. */
export interface Batch {
  batchId: string;
  accountId: number;
  name: string | null;
  operation: string;
  /** As the customer was told: `finishedAt` says whether something of it is still under way. */
  state: BatchState;
  window: FeedWindow;
  scheduleId: string | null;
  webhook: string | null;
  onlyChanges: boolean;
  /** Why nothing is fed at the moment. */
  waiting: { reason: string; until: number } | null;
  items: {
    total: number;
    done: number;
    failed: number;
    cancelled: number;
    /** Of those that are done: left out of the results because nothing has changed. */
    unchanged: number;
    running: number;
  };
  units: { quoted: number; reserved: number; charged: number };
  createdAt: number;
  deadlineAt: number;
  finishedAt: number | null;
}

/** An account's batch; null: it has no such batch, or it is no longer kept. */
export async function findBatch(
  database: Database,
  accountId: number,
  batchId: string,
): Promise<Batch | null> {
  const { rows } = await database.query<BatchRow>(`${SELECT_BATCHES} where b.account_id = $1 and b.id = $2`, [
    accountId,
    batchId,
  ]);
  return rows[0] ? toBatch(rows[0]) : null;
}

/** A batch, whoever's it is. */
export async function findBatchById(
  connection: Pick<Database, 'query'>,
  batchId: string,
): Promise<Batch | null> {
  const { rows } = await connection.query<BatchRow>(`${SELECT_BATCHES} where b.id = $1`, [batchId]);
  return rows[0] ? toBatch(rows[0]) : null;
}

/** An account's batches, the newest first. */
export async function listBatches(
  database: Database,
  accountId: number,
  filter: { state: BatchState | null; scheduleId: string | null; before: string | null; limit: number },
): Promise<Batch[]> {
  const { rows } = await database.query<BatchRow>(
    // Ids are of version 7: their order is that of time.
    `${SELECT_BATCHES}
     where b.account_id = $1 and ($2::uuid is null or b.id < $2) and ($3::text is null or b.state = $3)
       and ($4::uuid is null or b.schedule_id = $4)
     order by b.id desc limit $5`,
    [accountId, filter.before, filter.state, filter.scheduleId, filter.limit],
  );
  return rows.map(toBatch);
}

const SELECT_BATCHES = `
  select b.*, coalesce(f.items, 0)::integer as running_items, coalesce(f.units, 0)::bigint as units_reserved
  from batches b
  left join lateral (
    select sum(c.item_count) as items, sum(c.units) filter (where not c.joined) as units
    from batch_calls c where c.batch_id = b.id and c.state = 'fed'
  ) as f on true`;

export interface BatchRow {
  id: string;
  account_id: number;
  name: string | null;
  operation: string;
  state: BatchState;
  feed_window: FeedWindow;
  schedule_id: string | null;
  webhook: string | null;
  only_changes: boolean;
  waiting_reason: string | null;
  waiting_until: Date | null;
  item_count: number;
  done_items: number;
  failed_items: number;
  cancelled_items: number;
  unchanged_items: number;
  running_items: number;
  units_quoted: number;
  units_reserved: number;
  units_charged: number;
  created_at: Date;
  deadline_at: Date;
  finished_at: Date | null;
}

function toBatch(row: BatchRow): Batch {
  return {
    batchId: row.id,
    accountId: row.account_id,
    name: row.name,
    operation: row.operation,
    state: row.state,
    window: row.feed_window,
    scheduleId: row.schedule_id,
    webhook: row.webhook,
    onlyChanges: row.only_changes,
    waiting:
      row.waiting_reason !== null && row.waiting_until !== null && row.state === 'running'
        ? { reason: row.waiting_reason, until: row.waiting_until.getTime() }
        : null,
    items: {
      total: row.item_count,
      done: row.done_items,
      failed: row.failed_items,
      cancelled: row.cancelled_items,
      unchanged: row.unchanged_items,
      running: row.running_items,
    },
    units: { quoted: row.units_quoted, reserved: row.units_reserved, charged: row.units_charged },
    createdAt: row.created_at.getTime(),
    deadlineAt: row.deadline_at.getTime(),
    finishedAt: row.finished_at?.getTime() ?? null,
  };
}
