import type { Redis } from 'ioredis';
import type { SubmitDeps } from '../../jobs/submit.ts';
import type { OnFinished } from '../../src/batches/ending.ts';
import type { MinuteRate } from '../../src/billing/admission.ts';
import type { OffPeakWindow } from '../../src/billing/wallets.ts';
import type { Logger } from '../../src/platform/log.ts';
import type { RedisKeys } from '../../src/platform/redis-keys.ts';

export interface FeedDeps extends SubmitDeps {
  redis: Redis;
  keys: RedisKeys;
  offPeak: OffPeakWindow;
  log: Logger;
  /** Told of each call that is under way now, so that its end is noticed at once. */
  onFed(callId: string): void;
  onFinished: OnFinished;
}

/**
 * What became of a call that was fed.
 * ended: its answer was at hand. again: it was split, or given back. refused: not now, and nothing else of this account.
 * unknown: whether it was admitted is found out later.
 */
export type Outcome =
  | { kind: 'under way' | 'ended'; rate?: MinuteRate }
  | { kind: 'again' | 'refused' | 'unknown' };

/** How long after a call could not be queued. */
export const QUEUE_AWAY_MS = 5_000;
