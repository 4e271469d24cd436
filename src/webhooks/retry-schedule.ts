const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** How long after a failed attempt the next one follows. After the last the delivery has failed: more than a day in all. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];

const GONE = 410;

/** What an attempt means for its delivery. */
export type Verdict =
  | { state: 'delivered' }
  | { state: 'failed' }
  | { state: 'pending'; nextAttemptAt: number };

/**
 * @param status what the receiver answered, or null when it gave no answer.
 * @param retries how many failed attempts there were before this one. @param now when this one ended.
 */
export function verdictOf(status: number | null, retries: number, now: number): Verdict {
  if (status !== null && status >= 200 && status < 300) return { state: 'delivered' };
  const delayMs = RETRY_DELAYS_MS[retries];
  // By the standard, 410 says that nobody will ever want it here.
  if (status === GONE || delayMs === undefined) return { state: 'failed' };
  return { state: 'pending', nextAttemptAt: now + delayMs };
}
