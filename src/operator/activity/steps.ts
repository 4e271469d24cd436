import type { ActivitySeries, ActivityStep } from './activity.ts';

/** The steps of a report. */
export interface Steps {
  step: ActivityStep;
  /** Unix milliseconds, ascending. */
  starts: readonly number[];
  /** The end of the last step. */
  end: number;
  now: number;
}

export type Values = (number | null)[];

/**
 * Makes a series. Steps before the first account are null.
 * @param parts of which the values are shares, which tell since when they are known. Default: the values.
 */
export type ToSeries = (
  id: string,
  name: string,
  values: Values,
  total: number | null,
  parts?: Values,
) => ActivitySeries;

export const isoOf = (at: number) => new Date(at).toISOString();

/** SQL of the number of a step, from 0. $1 are the starts. */
export const stepOf = (column: string) => `width_bucket(${column}, $1::timestamptz[]) - 1`;

export const dates = (starts: readonly number[]) => starts.map((start) => new Date(start));

export function seriesSince(starts: readonly number[], known: number): ToSeries {
  return (id, name, all, total, parts = all) => {
    const values = all.map((value, i) => (i < known ? null : value));
    const first = parts.findIndex((part, i) => i >= known && part !== null);
    return { id, name, values, total, since: first > 0 ? isoOf(starts[first] ?? 0) : null };
  };
}

/** Puts the rows of a query, of which each has the number of its step, into their steps. Steps without a row have `empty`. */
export function inSteps<Row extends { step: number }>(
  { starts }: Steps,
  rows: readonly Row[],
  of: (row: Row) => number,
  empty: number | null = 0,
): Values {
  const values: Values = starts.map(() => empty);
  for (const row of rows) if (row.step in values) values[row.step] = of(row);
  return values;
}
