import { z } from 'zod';
import { isTestAccount } from '../accounts/test-accounts.ts';
import { SCHEMA_NAMES } from '../operations/answers/schema-names.ts';
import { ERRORS } from '../platform/errors.ts';
import { BATCH_STATES, type Batch, RESULTS_LIFETIME_MS, TEST_RESULTS_LIFETIME_MS } from './batch.ts';
import { FEED_WINDOWS } from './request-schemas.ts';

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
  KEY_CAP_REACHED: 'The API key that created the batch has used the units of its day or month.',
};

export function batchView(batch: Batch): BatchView {
  const { items, waiting, finishedAt } = batch;
  const self = `/api/batches/${batch.batchId}`;
  const lifetimeMs = isTestAccount(batch.accountId) ? TEST_RESULTS_LIFETIME_MS : RESULTS_LIFETIME_MS;
  const isWaiting = waiting !== null && items.running === 0;
  return {
    batchId: batch.batchId,
    name: batch.name,
    operation: batch.operation,
    state: isWaiting ? 'waiting' : batch.state,
    window: batch.window,
    waiting: waiting && {
      reason: waiting.reason,
      message: WAITING_MESSAGES[waiting.reason] ?? ERRORS.BUSY.text,
      until: iso(waiting.until),
    },
    counts: {
      items: items.total,
      pending: items.total - items.running - items.done - items.failed - items.cancelled,
      running: items.running,
      done: items.done,
      failed: items.failed,
      cancelled: items.cancelled,
      unchanged: items.unchanged,
    },
    units: batch.units,
    scheduleId: batch.scheduleId,
    webhook: batch.webhook,
    createdAt: iso(batch.createdAt),
    deadlineAt: iso(batch.deadlineAt),
    finishedAt: finishedAt === null ? null : iso(finishedAt),
    resultsUntil: finishedAt === null ? null : iso(finishedAt + lifetimeMs),
    links: { self, results: `${self}/results`, retry: `${self}/retry` },
  };
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
