import type { SubmitDeps } from '../../jobs/submit.ts';
import type { OnFinished } from '../../src/batches/ending.ts';
import type { MinuteRate } from '../../src/billing/admission.ts';
import type { OffPeakWindow } from '../../src/billing/wallets.ts';
import type { Logger } from '../../src/platform/log.ts';
import type { Redis } from '../../src/platform/redis.ts';
import type { RedisKeys } from '../../src/platform/redis-keys.ts';
import type { PrepareDeps } from './prepare.ts';

export interface FeedDeps extends SubmitDeps {
  redis: Redis;
  keys: RedisKeys;
  offPeak: OffPeakWindow;
  log: Logger;
  /** Called for each call that is under way, so that its end is noticed at once. */
  onFed(callId: string): void;
  /** Called for each of them whose job another process may have submitted. */
  onJoined(callId: string): Promise<void>;
  onFinished: OnFinished;
  webhooks: PrepareDeps['webhooks'];
}

/**
 * The outcome of feeding a call. ended: its answer was in the cache. again: it was split or returned. refused: not
 * now, and no other call of this account either. unknown: whether it was admitted is determined later.
 */
export type Outcome =
  | { kind: 'under way' | 'ended'; rate?: MinuteRate }
  | { kind: 'again' | 'refused' | 'unknown' };

/** How long to wait after a call could not be queued. */
export const QUEUE_AWAY_MS = 5_000;
