import { z } from 'zod';
import { problem } from './scalars.ts';

const WANTED = 'must be a date such as 2026-01-31';

const DAY_MS = 86_400_000;

/** A day, YYYY-MM-DD, that is in the calendar. */
export function date() {
  const schema = { type: 'string', format: 'date', maxLength: 10, examples: ['2026-01-31'] };
  return z.string(problem(WANTED)).trim().pipe(z.iso.date(WANTED)).meta(schema);
}

/** The day so many days after a day. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The same day of the year before; for 29 February the 28th. */
export function yearBefore(day: string): string {
  const [year = '', month, dayOfMonth] = day.split('-');
  return `${Number(year) - 1}-${month}-${month === '02' && dayOfMonth === '29' ? '28' : dayOfMonth}`;
}
