import { HOUR_MS, MINUTE_MS, SECOND_MS } from './durations.ts';

/** The pauses after failed attempts to send a webhook or a mail, more than a day in total. After the last one it has failed. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];
