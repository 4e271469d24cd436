import type { Level } from './components.ts';

/** The outcomes of one component in a minute that had any. */
export interface Minute {
  /** Unix milliseconds of its start. */
  minute: number;
  good: number;
  bad: number;
}

export interface FoundIncident {
  /** Unix milliseconds. */
  startedAt: number;
  /** null: it has not ended. */
  endedAt: number | null;
  /** The worst level. */
  level: Exclude<Level, 'operational'>;
  /** The level in the last minutes. */
  levelNow: Level;
}

const MINUTE_MS = 60_000;

/** The rules of incidents. Sums are those of the last `windowMinutes`. */
export const INCIDENT_RULES = {
  windowMinutes: 5,
  /** An incident begins with this many failures, if they are this share of all outcomes. */
  leastFailures: 5,
  degradedShare: 0.1,
  outageShare: 0.5,
  /** An incident goes on while this share fails, and ends after this many minutes without. */
  continuedShare: 0.05,
  quietMinutes: 10,
} as const;

/**
 * Finds the incidents of a component. An incident needs more failures to begin than to go on, so that a share of failures near
 * the limit makes one incident and not many.
 * @param minutes in the order of time. @param period [from, to) in Unix milliseconds, whole minutes.
 * @param open the incident that had begun before the period and had not ended.
 */
export function findIncidents(
  minutes: readonly Minute[],
  { from, to }: { from: number; to: number },
  open: FoundIncident | null = null,
): FoundIncident[] {
  const { windowMinutes, quietMinutes } = INCIDENT_RULES;
  const byMinute = new Map(minutes.map((one) => [one.minute, one]));
  const found: FoundIncident[] = [];
  let present = open && { ...open, endedAt: null };
  let lastFailure = from;
  for (let at = from; at < to; at += MINUTE_MS) {
    const window = windowUntil(byMinute, at, windowMinutes);
    if ((byMinute.get(at)?.bad ?? 0) > 0 && (!present || isContinued(window))) lastFailure = at + MINUTE_MS;
    const level = levelOf(window);
    if (present) {
      present.levelNow = level;
      if (level === 'outage') present.level = 'outage';
      if (at + MINUTE_MS - lastFailure < quietMinutes * MINUTE_MS) continue;
      found.push({ ...present, endedAt: lastFailure, levelNow: 'operational' });
      present = null;
    } else if (level !== 'operational') {
      present = { startedAt: window.firstFailure ?? at, endedAt: null, level, levelNow: level };
    }
  }
  return present ? [...found, present] : found;
}

interface Window {
  good: number;
  bad: number;
  /** The start of its first minute with a failure. */
  firstFailure: number | null;
}

function windowUntil(byMinute: ReadonlyMap<number, Minute>, last: number, minutes: number): Window {
  const window: Window = { good: 0, bad: 0, firstFailure: null };
  for (let at = last - (minutes - 1) * MINUTE_MS; at <= last; at += MINUTE_MS) {
    const { good, bad } = byMinute.get(at) ?? { good: 0, bad: 0 };
    window.good += good;
    window.bad += bad;
    if (bad > 0) window.firstFailure ??= at;
  }
  return window;
}

function levelOf({ good, bad }: Window): Level {
  const { leastFailures, degradedShare, outageShare } = INCIDENT_RULES;
  const share = bad / (good + bad);
  if (bad < leastFailures || share < degradedShare) return 'operational';
  return share < outageShare ? 'degraded' : 'outage';
}

function isContinued({ good, bad }: Window): boolean {
  return bad / (good + bad) >= INCIDENT_RULES.continuedShare;
}
