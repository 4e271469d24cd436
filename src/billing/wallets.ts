/** Which time of day a source of units is for. */
export type Wallet = 'general' | 'off_peak';

/** The two kinds of grant that units are drawn from. */
export type GrantKind = 'subscription' | 'pack';

/** The daily off-peak window [start, end): `HH:MM` on the wall clock of a named time zone. */
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
