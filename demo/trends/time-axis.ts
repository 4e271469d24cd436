export type Step = 'EIGHT_MINUTE' | 'SIXTEEN_MINUTE' | 'HOUR' | 'DAY' | 'WEEK' | 'MONTH';

const DAY_SECONDS = 86_400;
const STEP_SECONDS: Record<Exclude<Step, 'MONTH'>, number> = {
  EIGHT_MINUTE: 480,
  SIXTEEN_MINUTE: 960,
  HOUR: 3_600,
  DAY: DAY_SECONDS,
  WEEK: 7 * DAY_SECONDS,
};

/** A window, requested as `2026-01-01 2026-02-28`; in Unix seconds, end exclusive. */
interface TimeWindow {
  from: number;
  to: number;
}

/** @returns null for a text that is not a window, starts after its end or is in the future. */
export function readWindow(time: unknown, nowMs: number): TimeWindow | null {
  const [, start, end] = /^(\d{4}-\d{2}-\d{2}) (\d{4}-\d{2}-\d{2})$/.exec(String(time)) ?? [];
  if (start === undefined || end === undefined) return null;
  const [from, to] = [Date.parse(start) / 1000, Date.parse(end) / 1000 + DAY_SECONDS];
  return Number.isNaN(from) || Number.isNaN(to) || from >= to || from * 1000 > nowMs ? null : { from, to };
}

/** Upstream has only whole days for older data. */
const FINE_FOR_SECONDS = 8 * DAY_SECONDS;

/** Returns the width of a point, from the length of the window. It is below a day only for the last days. */
export function stepOf({ from, to }: TimeWindow, nowMs: number): Step {
  const days = (to - from) / DAY_SECONDS;
  if (from >= nowMs / 1000 - FINE_FOR_SECONDS) {
    if (days <= 1) return 'EIGHT_MINUTE';
    if (days <= 3) return 'SIXTEEN_MINUTE';
    if (days <= 7) return 'HOUR';
  }
  if (days < 270) return 'DAY';
  return days <= 5.2 * 365.25 ? 'WEEK' : 'MONTH';
}

/** Returns the points of a window up to now; the period of the last may not have ended. */
export function pointsOf(
  window: TimeWindow,
  step: Step,
  nowMs: number,
): { at: number; isPartial: boolean }[] {
  const points: { at: number; isPartial: boolean }[] = [];
  const end = Math.min(window.to, nowMs / 1000);
  for (let at = firstPoint(window.from, step); at < end; ) {
    const next = nextPoint(at, step);
    points.push({ at, isPartial: next > nowMs / 1000 });
    at = next;
  }
  return points;
}

/** Formats the time of a point for a clock `tz` minutes behind UTC; whole days are UTC days. */
export function formattedTime(at: number, step: Step, hl: string, tz: number): string {
  const ms = at * 1000;
  const day = { year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' } as const;
  if (step === 'MONTH') {
    return new Intl.DateTimeFormat([hl, 'en'], { year: 'numeric', month: 'short', timeZone: 'UTC' }).format(
      ms,
    );
  }
  if (step === 'DAY') return new Intl.DateTimeFormat([hl, 'en'], day).format(ms);
  if (step === 'WEEK') {
    return new Intl.DateTimeFormat([hl, 'en'], day).formatRange(ms, ms + 6 * DAY_SECONDS * 1000);
  }
  const clock = { hour: 'numeric', minute: '2-digit' } as const;
  return new Intl.DateTimeFormat([hl, 'en'], { ...day, ...clock }).format(ms - tz * 60_000);
}

/** Returns the first point: weeks start on Sundays, months on their first day. */
function firstPoint(from: number, step: Step): number {
  const day = new Date(from * 1000);
  if (step === 'WEEK') return from - day.getUTCDay() * DAY_SECONDS;
  return step === 'MONTH' ? Date.UTC(day.getUTCFullYear(), day.getUTCMonth()) / 1000 : from;
}

function nextPoint(at: number, step: Step): number {
  if (step !== 'MONTH') return at + STEP_SECONDS[step];
  const month = new Date(at * 1000);
  return Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1) / 1000;
}
