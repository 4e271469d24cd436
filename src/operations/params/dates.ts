import { z } from 'zod';
import { problem } from './scalars.ts';

const FAULT = problem('must be a date such as 2026-01-31');

const DAY_MS = 86_400_000;

/** A calendar date, YYYY-MM-DD. */
export function date() {
  const schema = { type: 'string', format: 'date', maxLength: 10, examples: ['2026-01-31'] };
  return z.string(FAULT).trim().pipe(z.iso.date(FAULT)).meta(schema);
}

/** Adds days to a date. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the same day of the previous year; 28 February for 29 February. */
export function yearBefore(day: string): string {
  const [year = '', month, dayOfMonth] = day.split('-');
  return `${Number(year) - 1}-${month}-${month === '02' && dayOfMonth === '29' ? '28' : dayOfMonth}`;
}
