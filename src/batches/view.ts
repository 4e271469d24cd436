import { ERRORS } from '../errors.ts';
import { type Batch, type BatchState, RESULTS_LIFETIME_MS } from './batch.ts';
import type { FeedWindow } from './request.ts';

/** A batch as its account sees it. Times are ISO 8601, counts are of items. */
export interface BatchView {
  batchId: string;
  name: string | null;
  operation: string;
  state: BatchState | 'waiting';
  window: FeedWindow;
  /** Why nothing goes on at the moment, and until when. */
  waiting: { reason: string; message: string; until: string } | null;
  counts: {
    items: number;
    pending: number;
    running: number;
    done: number;
    failed: number;
    cancelled: number;
    /** Of those done: left out of the results, because nothing has changed since the run before. */
    unchanged: number;
  };
  /** `quoted` is the most the batch can cost. */
  units: { quoted: number; reserved: number; charged: number };
  scheduleId: string | null;
  webhook: string | null;
  createdAt: string;
  deadlineAt: string;
  finishedAt: string | null;
  /** Until when its results are kept; null while it is not finished. */
  resultsUntil: string | null;
  links: { self: string; results: string; retry: string };
}

/** Why a batch waits, in the words a customer reads. */
const WAITING_MESSAGES: Record<string, string> = {
  OFF_PEAK_WINDOW: 'The batch is for the off-peak window, which is closed.',
  ACCOUNT_UNAVAILABLE: 'The account is disabled or unavailable.',
  MINUTE_RESERVED: "The rest of this minute's calls is left to other requests.",
  QUOTA_NO_SUBSCRIPTION: 'The account has no subscription and no resource pack.',
  QUOTA_OFF_PEAK_ONLY: "The account's units can be used in the off-peak window only.",
  QUOTA_MINUTE_EXCEEDED: 'The calls of this minute are used up.',
  QUOTA_DAILY_EXCEEDED: 'The units of this day are used up.',
  QUOTA_MONTHLY_EXCEEDED: 'The units of this month are used up.',
  QUOTA_PACK_EXHAUSTED: 'The resource packs are used up.',
  QUOTA_INSUFFICIENT_UNITS: 'The next call costs more units than are left.',
};

export function batchView(batch: Batch): BatchView {
  const { items, waiting, finishedAt } = batch;
  const self = `/api/batches/${batch.batchId}`;
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
    resultsUntil: finishedAt === null ? null : iso(finishedAt + RESULTS_LIFETIME_MS),
    links: { self, results: `${self}/results`, retry: `${self}/retry` },
  };
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
