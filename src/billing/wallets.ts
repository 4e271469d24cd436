import type { Queryable } from '../platform/db/pool.ts';
import { unixMs } from '../platform/db/rows.ts';

/** When units of a grant can be used: at any time, or in the off-peak window. */
export type Wallet = 'general' | 'off_peak';

/** The two kinds of grants from which calls draw units. */
export type GrantKind = 'subscription' | 'pack';

/** The daily off-peak window [start, end): `HH:MM` in the local time of a named time zone. */
export interface OffPeakWindow {
  start: string;
  end: string;
  timezone: string;
}

const DAILY_TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Returns whether a text is a window as in OFF_PEAK_WINDOW, with two different times: `19:00-07:00`. */
export function isDailyWindow(text: string): boolean {
  const times = text.split('-');
  return times.length === 2 && times.every((time) => DAILY_TIME.test(time)) && times[0] !== times[1];
}

/** Formats a window as operators write it: `19:00-07:00 Asia/Shanghai`. */
export function windowText({ start, end, timezone }: OffPeakWindow): string {
  return `${start}-${end} ${timezone}`;
}

/** @param window as in OFF_PEAK_WINDOW: `19:00-07:00`. */
export function parseWindow(window: string, timezone: string): OffPeakWindow {
  const [start = '', end = ''] = window.split('-');
  return { start, end, timezone };
}

/** Returns whether the off-peak window is open at an instant, and when it opens next (Unix milliseconds). */
export async function offPeakOpening(
  database: Queryable,
  { start, end, timezone }: OffPeakWindow,
  now: number,
): Promise<{ isOpen: boolean; opensAt: number }> {
  const { rows } = await database.query<{ isOpen: boolean; opensAt: number | null }>({
    name: 'off-peak-opening',
    text: `select souk_in_window($1, $2, $3, $4) as "isOpen",
      ${unixMs('souk_next_window_start($1, $2, $3, $4)')} as "opensAt"`,
    values: [new Date(now), start, end, timezone],
  });
  return { isOpen: rows[0]?.isOpen ?? false, opensAt: rows[0]?.opensAt ?? now };
}
