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

/** @param window as in OFF_PEAK_WINDOW: `19:00-07:00`. */
export function parseWindow(window: string, timezone: string): OffPeakWindow {
  const [start = '', end = ''] = window.split('-');
  return { start, end, timezone };
}
