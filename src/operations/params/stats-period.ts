import { z } from 'zod';
import { problem } from './scalars.ts';

const FAULT = problem(
  'must be a positive number of days, or two ISO 8601 dates or two Unix times in milliseconds, separated by a comma, the earlier first',
);

/** A Unix time, or an ISO 8601 date or time. */
const MOMENT = '(?:\\d{9,15}|\\d{4}-\\d{2}-\\d{2}(?:[T ][\\d:.]+(?:Z|[+-]\\d{2}:?\\d{2})?)?)';

/** The period of statistics: a number of days, or two ISO 8601 times or Unix times in milliseconds. */
export function statsPeriod() {
  return z
    .preprocess(
      (value) => (typeof value === 'number' ? String(value) : value),
      z.string(FAULT).trim().refine(isPeriod, FAULT).transform(canonical),
    )
    .meta({
      type: 'string',
      pattern: `^(?:0{0,5}[1-9]\\d{0,5}|${MOMENT},${MOMENT})$`,
      maxLength: 80,
      examples: ['30', '2026-01-01,2026-03-31', '1767225600000,1774915200000'],
    });
}

function isPeriod(value: string): boolean {
  if (/^\d{1,6}$/.test(value)) return Number(value) >= 1;
  const ends = value.split(',').map(momentOf);
  const [from, to] = ends;
  return ends.length === 2 && from !== undefined && to !== undefined && from <= to;
}

/** Removes spaces around the comma. */
function canonical(value: string): string {
  return value
    .split(',')
    .map((part) => (/^\d+$/.test(part.trim()) ? String(Number(part)) : part.trim()))
    .join(',');
}

/** Returns Unix milliseconds, or undefined when the text is not a time. */
function momentOf(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d{9,15}$/.test(trimmed)) return Number(trimmed);
  if (!/^\d{4}-\d{2}-\d{2}([T ][\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/.test(trimmed)) return undefined;
  const moment = Date.parse(trimmed);
  return Number.isNaN(moment) ? undefined : moment;
}
