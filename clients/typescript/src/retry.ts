import { ConnectionError, SoukError, TimeoutError } from './errors.ts';

/** Limits of the attempts that a request may have. */
export interface RetrySettings {
  /** Attempts after the first one. */
  maxRetries: number;
  /** All pauses of a request together. */
  retryBudgetMs: number;
}

/** What is known when an attempt has failed. */
export interface FailedAttempt {
  error: unknown;
  /** Number of attempts so far. */
  attempts: number;
  /** charged: an identical call within five minutes is not charged again; never: a repetition would do it twice. */
  repeats: 'charged' | 'always' | 'never';
  /** Time since the start of the first attempt that may have reached the service without an answer; null if there is none. */
  sinceLostMs: number | null;
  /** Pauses of the request so far. */
  pausedMs: number;
}

/**
 * The service charges identical calls once within five minutes of the first one. A call whose answer got lost is not sent again
 * later than this, so that the repetition arrives in time.
 */
const CHARGED_ONCE_MS = 240_000;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;
/** Spreads clients that were refused at the same time. */
const SPREAD_MS = 1_000;

const OF_JOBS: ReadonlySet<string> = new Set(['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'DEADLINE_PASSED']);
const PASSING = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Returns the pause before the next attempt; null if the request must not be repeated.
 * @param random from 0 to 1.
 */
export function pauseBeforeRetry(
  failed: FailedAttempt,
  { maxRetries, retryBudgetMs }: RetrySettings,
  random: number,
): number | null {
  const { error, attempts, repeats, sinceLostMs, pausedMs } = failed;
  if (attempts > maxRetries || !isPassing(error)) return null;
  // A free request asks no provider: this is the error of a job that has ended, and it stays.
  if (repeats === 'always' && OF_JOBS.has(error.code)) return null;
  const isRefused = error.status === 429;
  if (repeats === 'never' && (!isRefused || sinceLostMs !== null)) return null;
  // A limit that does not say when it ends does not end by waiting.
  if (isRefused && error.retryAfterMs === null) return null;
  const pauseMs = Math.round(
    error.retryAfterMs === null ? backoff(attempts, random) : error.retryAfterMs + random * SPREAD_MS,
  );
  if (pausedMs + pauseMs > retryBudgetMs) return null;
  const isLate = sinceLostMs !== null && sinceLostMs + pauseMs > CHARGED_ONCE_MS;
  return repeats === 'charged' && isLate ? null : pauseMs;
}

/** Returns a random pause whose bounds double with each attempt. */
export function backoff(attempts: number, random: number): number {
  const longestMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1));
  return longestMs * (0.5 + random / 2);
}

/** Whether the service may have accepted the request although the caller has no answer, or only the page of a proxy. */
export function isLost(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  return error instanceof SoukError && error.code === 'UNEXPECTED_ANSWER' && (error.status ?? 0) >= 500;
}

function isPassing(error: unknown): error is SoukError {
  return error instanceof SoukError && (isLost(error) || PASSING.has(error.status ?? 0));
}
