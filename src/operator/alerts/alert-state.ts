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
  /** The names of the lines in the last message of this period; null: nothing was told. */
  told: readonly string[] | null;
  /** The last message that said that it has begun or goes on. */
  toldAt: number | null;
  silencedUntil: number | null;
}

export const WELL: AlertState = {
  since: null,
  seenAt: null,
  lines: [],
  told: null,
  toldAt: null,
  silencedUntil: null,
};

/** What a message says. */
export type AlertNews = 'begun' | 'goes on' | 'over';

/** A cause has at most one message in this time, besides the one that says that it is over. */
const TOLD_AGAIN_AFTER_MS = HOUR_MS;

/** An alert that goes on is told again after this time. */
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
 * Returns the state of an alert after it was measured, and what the operator is told. A silenced alert tells nothing; if it still
 * fires when the silence ends, it is told then.
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
    const { toldAt, silencedUntil } = state;
    const news = state.told !== null && !isSilenced(state, now) ? 'over' : null;
    return { state: { ...WELL, toldAt, silencedUntil }, news };
  }
  const present = { ...state, since: state.since ?? now, seenAt: now, lines };
  const { told, toldAt } = state;
  const sinceTold = now - (toldAt ?? Number.NEGATIVE_INFINITY);
  if (!isFiring(present, alert, now) || isSilenced(state, now) || sinceTold < TOLD_AGAIN_AFTER_MS)
    return { state: present, news: null };
  const isMore = told !== null && lines.some(({ name }) => !told.includes(name));
  if (told !== null && !isMore && sinceTold < REMINDED_AFTER_MS) return { state: present, news: null };
  return {
    state: { ...present, told: lines.map(({ name }) => name), toldAt: now },
    news: told === null ? 'begun' : 'goes on',
  };
}
