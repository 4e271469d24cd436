import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../platform/durations.ts';
import type { Alert } from './alerts.ts';
import type { AlertLine } from './measures.ts';

/** What is known about an alert. Times are Unix milliseconds. */
export interface AlertState {
  /** Since when its condition holds; null: all is well. */
  since: number | null;
  /** When the condition held last. */
  seenAt: number | null;
  lines: readonly AlertLine[];
  /** The names of the lines in the last message of this period; null: nothing was notified. */
  notified: readonly string[] | null;
  /** The last message that said that it has begun or goes on. */
  notifiedAt: number | null;
  silencedUntil: number | null;
}

export const WELL: AlertState = {
  since: null,
  seenAt: null,
  lines: [],
  notified: null,
  notifiedAt: null,
  silencedUntil: null,
};

/** What a message says. */
export type AlertNews = 'begun' | 'goes on' | 'over';

/** A cause has at most one message in this time, besides the one that says that it is over. */
const REPEATED_AFTER_MS = HOUR_MS;

/** An alert that goes on is notified again after this time. */
const REMINDED_AFTER_MS = DAY_MS;

/** An alert ends when its condition has not held for this long, so that one near its limit is one alert and not many. */
const ENDS_AFTER_MS = 5 * MINUTE_MS;

export function isSilenced({ silencedUntil }: Pick<AlertState, 'silencedUntil'>, now: number): boolean {
  return silencedUntil !== null && silencedUntil > now;
}

/** Returns whether an alert fires: its condition has held for long enough. */
export function isFiring({ since }: AlertState, { afterMinutes }: Pick<Alert, 'afterMinutes'>, now: number) {
  return since !== null && now - since >= afterMinutes * MINUTE_MS;
}

/**
 * Returns the state of an alert after it was measured, and what its message says. A silenced alert sends none; if it still
 * fires when the silence ends, that is sent then.
 * @param lines what fulfils its condition; none: all is well.
 */
export function nextState(
  state: AlertState,
  alert: Pick<Alert, 'afterMinutes'>,
  lines: readonly AlertLine[],
  now: number,
): { state: AlertState; news: AlertNews | null } {
  if (lines.length === 0) {
    const ends = state.seenAt !== null && now - state.seenAt >= ENDS_AFTER_MS;
    if (!ends) return { state, news: null };
    const { notifiedAt, silencedUntil } = state;
    const news = state.notified !== null && !isSilenced(state, now) ? 'over' : null;
    return { state: { ...WELL, notifiedAt, silencedUntil }, news };
  }
  const present = { ...state, since: state.since ?? now, seenAt: now, lines };
  const { notified, notifiedAt } = state;
  const sinceMessage = now - (notifiedAt ?? Number.NEGATIVE_INFINITY);
  if (!isFiring(present, alert, now) || isSilenced(state, now) || sinceMessage < REPEATED_AFTER_MS)
    return { state: present, news: null };
  const isMore = notified !== null && lines.some(({ name }) => !notified.includes(name));
  if (notified !== null && !isMore && sinceMessage < REMINDED_AFTER_MS) return { state: present, news: null };
  return {
    state: { ...present, notified: lines.map(({ name }) => name), notifiedAt: now },
    news: notified === null ? 'begun' : 'goes on',
  };
}
