import { addDays } from '../../platform/calendar.ts';
import { fromKeepaMinutes, toKeepaMinutes } from '../products/history.ts';
import type { Product } from '../products/product.ts';
import { ratio } from './figures.ts';
import { type SeriesName, seriesOf, shownIn, valuesAt } from './series.ts';

const COMPARED = ['price', 'rank', 'offers', 'rating'] as const satisfies SeriesName[];

type Compared = (typeof COMPARED)[number];

/**
 * Returns a row for each day and the movements of each value of a product.
 * @param days how many UTC days, the last of which is that of `now` (index minutes).
 */
export function comparisonOf(
  asin: string,
  product: Product | undefined,
  { domain, days, now }: { domain: number; days: number; now: number },
) {
  const dates = datesUntil(now, days);
  const ends = dates.map((date) => Math.min(lastMinuteOf(date), now));
  const columns = COMPARED.map((name) => {
    const series = seriesOf(product, name, domain, now);
    return { name, unit: series.unit, values: valuesAt(series, ends) };
  });
  const rows = dates.map((day, i) => {
    const values = columns.map(({ name, unit, values }) => [name, shownIn(unit, values[i] ?? null)]);
    return { asin, day, ...(Object.fromEntries(values) as Record<Compared, number | null>) };
  });
  const movements = columns.map(({ name, unit, values }) => [name, movementOf(values, unit)]);
  return {
    rows,
    movements: Object.fromEntries(movements) as Record<Compared, ReturnType<typeof movementOf>>,
  };
}

function datesUntil(now: number, days: number): string[] {
  const today = new Date(fromKeepaMinutes(now)).toISOString().slice(0, 10);
  return Array.from({ length: days }, (_, i) => addDays(today, i + 1 - days));
}

function lastMinuteOf(date: string): number {
  return toKeepaMinutes(Date.parse(`${addDays(date, 1)}T00:00:00Z`)) - 1;
}

function movementOf(values: readonly (number | null)[], unit: number) {
  const known = values.filter((value) => value !== null);
  const [first = null, last = null] = [values[0], values.at(-1)];
  const sum = known.reduce((total, value) => total + value, 0);
  const extreme = (of: number) => (known.length === 0 ? null : shownIn(unit, of));
  return {
    first: shownIn(unit, first),
    last: shownIn(unit, last),
    change: first === null || last === null ? null : shownIn(unit, last - first),
    average: known.length === 0 ? null : ratio(sum, known.length * unit),
    lowest: extreme(Math.min(...known)),
    highest: extreme(Math.max(...known)),
  };
}
