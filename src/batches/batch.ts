import { z } from 'zod';
import { isTestAccount } from '../accounts/authentication.ts';
import { SCHEMA_NAMES } from '../operations/answers.ts';
import type { TableFormat } from '../operations/tables/formats.ts';
import { iso } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { unixMs } from '../platform/db/rows.ts';
import { DAY_MS, WEEK_MS } from '../platform/durations.ts';
import { ERRORS } from '../platform/errors.ts';
import { FEED_WINDOWS, type FeedWindow } from './read-batch.ts';

export const BATCH_STATES = ['running', 'done', 'expired', 'cancelled'] as const;

export type BatchState = (typeof BATCH_STATES)[number];

/** How long results are kept after a batch has ended. */
export const RESULTS_LIFETIME_MS = WEEK_MS;

/** Results of test accounts are free, so they are deleted earlier. */
export const TEST_RESULTS_LIFETIME_MS = DAY_MS;

/** A row of `batches` with the counts and units of its calls. Times are Unix milliseconds. */
export interface Batch {
  batchId: string;
  accountId: number;
  name: string | null;
  operation: string;
  /** As shown to the customer. A batch that expired or was cancelled can still have calls under way until `finishedAt`. */
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
    select sum(c.item_count) as items, sum(o.units_reserved) filter (where not c.joined) as units
    from batch_calls c left join open_calls o on o.account_id = b.account_id and o.id = c.call_id
    where c.batch_id = b.id and c.state = 'fed'
  ) as f on true`;

/** Returns the name of a file with the results. @param table undefined: the lines or the default table. */
export function batchFileName(
  { batchId }: Batch,
  { format, table }: { format: TableFormat; table?: string | undefined },
): string {
  return `souk-batch-${table === undefined ? '' : `${table}-`}${batchId.slice(-12)}.${format}`;
}

const moment = z.iso.datetime();

/** A batch as its account sees it. Times are ISO 8601, counts are of items. */
export const batchSchema = z
  .object({
    batchId: z.uuid(),
    name: z.string().nullable(),
    operation: z.string(),
    state: z.enum([...BATCH_STATES, 'waiting']),
    window: z.enum(FEED_WINDOWS),
    waiting: z
      .object({ reason: z.string(), message: z.string(), until: moment })
      .nullable()
      .describe('Why the batch is waiting, and until when'),
    counts: z
      .object({
        items: z.int(),
        pending: z.int(),
        running: z.int(),
        done: z.int(),
        failed: z.int(),
        cancelled: z.int(),
        unchanged: z
          .int()
          .describe(
            'Items counted in done that are left out of the results, because their content has not changed since the previous run',
          ),
      })
      .describe('Numbers of items'),
    units: z.object({
      quoted: z.int().describe('Highest price of the batch'),
      reserved: z.int(),
      charged: z.int(),
    }),
    scheduleId: z.uuid().nullable(),
    webhook: z.string().nullable(),
    createdAt: moment,
    deadlineAt: moment,
    finishedAt: moment.nullable(),
    resultsUntil: moment
      .nullable()
      .describe('The time at which the results are deleted; null until the batch finishes'),
    links: z.object({ self: z.string(), results: z.string(), retry: z.string() }),
  })
  .register(SCHEMA_NAMES, { id: 'Batch' });

export type BatchView = z.output<typeof batchSchema>;

/** Messages that customers read while a batch waits. */
const WAITING_MESSAGES: Record<string, string> = {
  OFF_PEAK_WINDOW: 'The off-peak window is closed. The batch continues when it opens.',
  ACCOUNT_UNAVAILABLE: 'The account is disabled or unavailable.',
  MINUTE_RESERVED: "The rest of this minute's calls is reserved for other requests.",
  QUOTA_NO_SUBSCRIPTION: 'The account has no plan and no pack.',
  QUOTA_OFF_PEAK_ONLY: 'The account has units for the off-peak window only.',
  QUOTA_MINUTE_EXCEEDED: 'The account has reached its limit of calls per minute.',
  QUOTA_DAILY_EXCEEDED: 'The account has used all units of this day.',
  QUOTA_MONTHLY_EXCEEDED: 'The account has used all units of this month.',
  QUOTA_PACK_EXHAUSTED: 'The account has used all units of its packs.',
  QUOTA_INSUFFICIENT_UNITS: 'The next call costs more units than the account has left.',
  RECOVERING: ERRORS.RECOVERING.text,
  KEY_CAP_REACHED: 'The API key that created the batch has used the units of its day or month.',
};

export function batchView({ accountId, onlyChanges: _, items, waiting, ...batch }: Batch): BatchView {
  const { batchId, finishedAt } = batch;
  const { total, running, done, failed, cancelled, unchanged } = items;
  const self = `/api/batches/${batchId}`;
  const lifetimeMs = isTestAccount(accountId) ? TEST_RESULTS_LIFETIME_MS : RESULTS_LIFETIME_MS;
  const pending = total - running - done - failed - cancelled;
  return {
    ...batch,
    state: waiting !== null && running === 0 ? 'waiting' : batch.state,
    waiting: waiting && {
      reason: waiting.reason,
      message: WAITING_MESSAGES[waiting.reason] ?? ERRORS.BUSY.text,
      until: iso(waiting.until),
    },
    counts: { items: total, pending, running, done, failed, cancelled, unchanged },
    createdAt: iso(batch.createdAt),
    deadlineAt: iso(batch.deadlineAt),
    finishedAt: finishedAt === null ? null : iso(finishedAt),
    resultsUntil: finishedAt === null ? null : iso(finishedAt + lifetimeMs),
    links: { self, results: `${self}/results`, retry: `${self}/retry` },
  };
}
