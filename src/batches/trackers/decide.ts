import type { Reading } from './reading.ts';

/** What a tracker knows about a condition of one product or keyword. */
export interface ConditionState {
  /** Stays true until the condition is clearly false. */
  isMet: boolean;
  /** The last known value. */
  value: number | string | null;
  /** When the last alert was made, Unix milliseconds. */
  alertedAt: number | null;
}

export interface AlertRules {
  /** Whether a condition that is true at the first look raises an alert. */
  alertAtStart: boolean;
  /** An alert follows the last one of the same product and condition after this time at the earliest. */
  quietMs: number;
}

/** The values of a crossing. */
export interface Crossing {
  before: number | string | null;
  after: number | string | null;
  threshold: number | null;
}

export interface Decision {
  state: ConditionState | null;
  crossing: Crossing | null;
}

/**
 * Compares a reading with the state before, and decides whether there is an alert: when the condition was false and is
 * true now.
 * @param state null before the first look.
 * @param reading null if the data is missing: then the state stays.
 * @param now Unix milliseconds.
 */
export function decide(
  state: ConditionState | null,
  reading: Reading | null,
  { alertAtStart, quietMs }: AlertRules,
  now: number,
): Decision {
  if (reading === null) return { state, crossing: null };
  const wasMet = state?.isMet ?? false;
  const becomesTrue =
    reading.kind === 'identity'
      ? state !== null && state.value !== reading.value
      : reading.isMet && !wasMet && (state !== null || alertAtStart);
  const isMet = reading.kind === 'compared' && (reading.isMet || (wasMet && !reading.isClear));
  const last = state?.alertedAt ?? null;
  const isQuiet = last !== null && now - last < quietMs;
  const isAlert = becomesTrue && !isQuiet;
  const next = { isMet, value: reading.value, alertedAt: isAlert ? now : last };
  if (!isAlert) return { state: next, crossing: null };
  const threshold = reading.kind === 'compared' ? reading.threshold : null;
  return { state: next, crossing: { before: state?.value ?? null, after: reading.value, threshold } };
}
