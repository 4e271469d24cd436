import { setImmediate as nextImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { date, integer, isInOrder, NOT_IN_ORDER } from '../../operations/params/scalars.ts';
import { parseAs } from '../operations/call-options.ts';
import type { Arguments } from './tool.ts';

// Decoded histories as an agent reads them: `[["2026-11-01", 19.99], ...]` instead of a list of times and a list of values,
// in 60 percent of the tokens.

const limitsSchema = z
  .object({
    from: date().optional(),
    to: date().optional(),
    points: integer({ min: 4, max: 1_000 }).optional(),
  })
  .refine(isInOrder, NOT_IN_ORDER);

/** Limits the points of each series to a period and to a number. */
export type SeriesLimits = z.output<typeof limitsSchema>;

/** Arguments of tools that return series. */
export const SERIES_ARGUMENTS = {
  from: { type: 'string', description: 'First day of histories' },
  to: { type: 'string', description: 'Last day' },
  points: { type: 'integer', description: 'Most points of a history' },
} as const;

/** @throws SoukError VALIDATION_FAILED. */
export function seriesLimitsOf({ from, to, points }: Arguments): SeriesLimits {
  return parseAs(limitsSchema, {
    from: from ?? undefined,
    to: to ?? undefined,
    points: points ?? undefined,
  });
}

/** The day of a change, and the values from then on. */
type Point = readonly [day: string, ...values: unknown[]];

/**
 * Returns the data with every decoded history as a list of points, oldest first. A point differs from the one before it. A
 * history of several columns starts with their names; further columns without any value are left out. Other work runs
 * between the histories.
 */
export async function compactSeries(data: unknown, limits: SeriesLimits): Promise<unknown> {
  if (typeof data !== 'object' || data === null) return data;
  if (Array.isArray(data)) {
    if (!data.some((item) => typeof item === 'object')) return data;
    const items: unknown[] = [];
    for (const item of data) items.push(await compactSeries(item, limits));
    return items;
  }
  if (isHistory(data)) {
    await nextImmediate();
    return pointsOf(data, limits);
  }
  const fields: [string, unknown][] = [];
  for (const [name, value] of Object.entries(data)) fields.push([name, await compactSeries(value, limits)]);
  return Object.fromEntries(fields);
}

interface History extends Record<string, unknown[]> {
  time: string[];
}

/** Returns whether a value has the columns of a history: times, and further lists of the same length. */
function isHistory(value: object): value is History {
  const { time } = value as { time?: unknown };
  const columns = Object.values(value);
  return (
    Array.isArray(time) &&
    columns.length > 1 &&
    columns.every((column) => Array.isArray(column) && column.length === time.length)
  );
}

function pointsOf({ time, ...columns }: History, limits: SeriesLimits): unknown[] {
  const names = Object.keys(columns).filter(
    (name) => name === 'value' || columns[name]?.some((entry) => entry !== null && entry !== 0),
  );
  const all = time.map((at, i): Point => [at.slice(0, 10), ...names.map((name) => columns[name]?.[i])]);
  const points = thinned(changesOf(within(all, limits)), limits.points ?? all.length);
  return names.length === 1 && names[0] === 'value' ? points : [['time', ...names], ...points];
}

/** Returns the points of a period. The last point before it still applies when the period starts. */
function within(points: readonly Point[], { from = '', to = '9999' }: SeriesLimits): Point[] {
  const first = points.findIndex(([day]) => day >= from);
  const start = first === -1 ? points.length : first;
  return points.slice(Math.max(0, from === '' ? 0 : start - 1)).filter(([day]) => day <= to);
}

function changesOf(points: readonly Point[]): Point[] {
  return points.filter(([, ...values], i) => {
    const [, ...before] = points[i - 1] ?? [];
    return i === 0 || values.some((value, column) => value !== before[column]);
  });
}

/** Returns at most `most` points: the first, the last, and the lowest and highest of equal sections between them. */
function thinned(points: Point[], most: number): Point[] {
  const [first, last] = [points[0], points.at(-1)];
  if (points.length <= most || !first || !last) return points;
  const sections = Math.floor((most - 2) / 2);
  const inner = points.slice(1, -1);
  const kept = Array.from({ length: sections }, (_, i) => {
    const from = Math.floor((i * inner.length) / sections);
    const to = Math.floor(((i + 1) * inner.length) / sections);
    return extremesOf(inner.slice(from, to));
  });
  return [first, ...kept.flat(), last];
}

/** Returns the points with the lowest and the highest value, in their order. A point without data is neither. */
function extremesOf(points: readonly Point[]): Point[] {
  const known = points.flatMap(([, value], i) => (value === null ? [] : [i]));
  const byValue = known.sort((a, b) => Number(points[a]?.[1]) - Number(points[b]?.[1]));
  const [lowest = 0, highest = 0] = [byValue[0], byValue.at(-1)];
  return points.filter((_, i) => i === lowest || i === highest);
}
