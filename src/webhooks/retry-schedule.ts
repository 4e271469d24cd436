import { RETRY_DELAYS_MS } from '../platform/retry-delays.ts';

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
