import { group, sum } from 'd3-array';
import type { DailyUse } from '../../../billing/statement.ts';

export type Measure = 'units' | 'calls';

/** What one day of the chart shows, by series. */
export interface UsageDay {
  /** UTC, YYYY-MM-DD. */
  day: string;
  bySeries: Record<string, number>;
  units: number;
  calls: number;
}

export interface UsageSeries {
  /** The operations that were used most, the most used first, and the rest of them together. */
  names: readonly string[];
  days: readonly UsageDay[];
}

/** As many as there are colours to tell them apart. */
const MOST_SERIES = 6;

export const OTHERS = 'others';

const DAY_MS = 86_400_000;

/** Every day of a period that ends with today, also those on which nothing was called. */
export function usageSeries(
  rows: readonly DailyUse[],
  { days, now, measure }: { days: number; now: number; measure: Measure },
): UsageSeries {
  const byOperation = [...group(rows, ({ operation }) => operation)]
    .map(([operation, some]) => ({ operation, total: sum(some, (row) => row[measure]) }))
    .sort((a, b) => b.total - a.total || (a.operation < b.operation ? -1 : 1));
  const all = byOperation.map(({ operation }) => operation);
  const own = all.length > MOST_SERIES ? all.slice(0, MOST_SERIES - 1) : all;
  const names = all.length > own.length ? [...own, OTHERS] : own;
  const byDay = group(rows, ({ day }) => day);
  return {
    names,
    days: Array.from({ length: days }, (_, i) => {
      const day = dayOf(now - (days - 1 - i) * DAY_MS);
      const some = byDay.get(day) ?? [];
      const bySeries: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
      for (const row of some) {
        const name = own.includes(row.operation) ? row.operation : OTHERS;
        bySeries[name] = (bySeries[name] ?? 0) + row[measure];
      }
      return { day, bySeries, units: sum(some, (row) => row.units), calls: sum(some, (row) => row.calls) };
    }),
  };
}

/** The beginning of the first of so many days that end with today. */
export function firstDayAt(now: number, days: number): number {
  return Date.parse(dayOf(now)) - (days - 1) * DAY_MS;
}

function dayOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 10);
}
