import { z } from 'zod';
import { isDate } from '../brand-analytics/keywords/report-week.ts';
import { problem } from './scalars.ts';

/** A calendar date, YYYY-MM-DD. */
export function date() {
  const fault = problem('must be a date such as 2026-04-11');
  return z
    .preprocess(
      (value) => (typeof value === 'string' ? value.trim() : value),
      z.string(fault).refine(isDate, fault),
    )
    .meta({ format: 'date', maxLength: 10, examples: ['2026-04-11'] });
}
