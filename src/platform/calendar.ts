import { DAY_MS } from './durations.ts';

// Dates are texts, YYYY-MM-DD.

/** Returns whether a text is a valid calendar date, YYYY-MM-DD. */
export function isDate(text: string): boolean {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** Adds days to a date; a negative number goes back. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the same day of the previous year; 28 February for 29 February. */
export function yearBefore(day: string): string {
  const [year = '', month, dayOfMonth] = day.split('-');
  return `${Number(year) - 1}-${month}-${month === '02' && dayOfMonth === '29' ? '28' : dayOfMonth}`;
}

/** Returns the same day and time some months later in UTC, or the last day of a month without that day. */
export function monthsAfter(start: Date, months: number): Date {
  const end = new Date(start);
  end.setUTCMonth(start.getUTCMonth() + months);
  // For Date, 31 January plus one month is 3 March. This sets the last day of February instead.
  if (end.getUTCDate() !== start.getUTCDate()) end.setUTCDate(0);
  return end;
}
