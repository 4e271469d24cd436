const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The pauses after failed attempts, more than a day in total. After the last one the delivery has failed. */
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

/** The state of a delivery after an attempt. */
export type Verdict =
  | { state: 'delivered' }
  | { state: 'failed' }
  | { state: 'pending'; nextAttemptAt: number };

/**
 * @param status the status of the reply, or null if there was none.
 * @param retries how many attempts failed before this one.
 * @param now when this attempt ended.
 */
export function verdictOf(status: number | null, retries: number, now: number): Verdict {
  if (status !== null && status >= 200 && status < 300) return { state: 'delivered' };
  const delayMs = RETRY_DELAYS_MS[retries];
  // Standard Webhooks: 410 means that the receiver wants no more messages.
  if (status === GONE || delayMs === undefined) return { state: 'failed' };
  return { state: 'pending', nextAttemptAt: now + delayMs };
}
