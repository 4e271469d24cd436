import { group, sum } from 'd3-array';
import type { DailyUse } from '../../../billing/statement.ts';

export type Measure = 'units' | 'calls';

/** The values of one day of the chart, by series. */
export interface UsageDay {
  /** UTC, YYYY-MM-DD. */
  day: string;
  bySeries: Record<string, number>;
  units: number;
  calls: number;
}

export interface UsageSeries {
  /** The most used operations in descending order, and `others` for the rest. */
  names: readonly string[];
  days: readonly UsageDay[];
}

/** The number of colours. */
const MAX_SERIES = 6;

export const OTHERS = 'others';

const DAY_MS = 86_400_000;

/** Groups use by day. The period ends today and includes days without calls. */
export function usageSeries(
  rows: readonly DailyUse[],
  { days, now, measure }: { days: number; now: number; measure: Measure },
): UsageSeries {
  const byOperation = [...group(rows, ({ operation }) => operation)]
    .map(([operation, some]) => ({ operation, total: sum(some, (row) => row[measure]) }))
    .sort((a, b) => b.total - a.total || (a.operation < b.operation ? -1 : 1));
  const all = byOperation.map(({ operation }) => operation);
  const own = all.length > MAX_SERIES ? all.slice(0, MAX_SERIES - 1) : all;
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

/** The start of a period of so many days that ends today, in Unix milliseconds. */
export function firstDayAt(now: number, days: number): number {
  return Date.parse(dayOf(now)) - (days - 1) * DAY_MS;
}

function dayOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 10);
}
