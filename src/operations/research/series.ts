import { currencyDigits, fromKeepaMinutes, SERIES } from '../products/history.ts';
import type { Product } from '../products/product.ts';

const INDICES = {
  price: SERIES.NEW,
  rank: SERIES.SALES,
  offers: SERIES.COUNT_NEW,
  rating: SERIES.RATING,
  reviewCount: SERIES.COUNT_REVIEWS,
} as const;

export type SeriesName = keyof typeof INDICES;

/** A value from a time on. */
export interface Point {
  /** Index minutes. */
  at: number;
  /** In the smallest unit of the series; null while the provider has no data. */
  value: number | null;
}

/** The changes of a value, oldest first. The values are whole numbers, so that sums of them are exact. */
export interface Series {
  points: readonly Point[];
  /** How many of the values make one of what customers see: 100 cents, ten tenths of a star. */
  unit: number;
}

/** Returns a series of a product without points after `now` (index minutes); a malformed point is left out. */
export function seriesOf(
  product: Product | undefined,
  name: SeriesName,
  domain: number,
  now: number,
): Series {
  const flat: readonly unknown[] = product?.csv?.[INDICES[name]] ?? [];
  const points: Point[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [at, value] = [flat[i], flat[i + 1]];
    if (!Number.isInteger(at) || !Number.isInteger(value) || (at as number) > now) continue;
    const last = points.at(-1);
    if (last && (at as number) < last.at) continue;
    if (last?.at === at) points.pop();
    points.push({ at: at as number, value: (value as number) < 0 ? null : (value as number) });
  }
  return { points, unit: unitOf(name, domain) };
}

/** Returns how many of the smallest unit of a series make one of what customers see. */
export function unitOf(name: SeriesName, domain: number): number {
  if (name === 'price') return 10 ** currencyDigits(domain);
  return name === 'rating' ? 10 : 1;
}

/** Returns the value of the last point. */
export function currentOf({ points }: Series): number | null {
  return points.at(-1)?.value ?? null;
}

/** Returns the values at some times (index minutes, increasing): each is that of the last point up to the time. */
export function valuesAt({ points }: Series, times: readonly number[]): (number | null)[] {
  let next = 0;
  return times.map((time) => {
    while (next < points.length && (points[next]?.at ?? 0) <= time) next += 1;
    return points[next - 1]?.value ?? null;
  });
}

/**
 * Returns the mean between two times, in which each value counts as long as it was valid. Times without data do not count.
 * Rounded to the smallest unit; null without data.
 */
export function meanOf({ points }: Series, from: number, to: number): number | null {
  let sum = 0;
  let minutes = 0;
  for (const [i, { at, value }] of points.entries()) {
    const lasted = Math.min(points[i + 1]?.at ?? to, to) - Math.max(at, from);
    if (value === null || lasted <= 0) continue;
    sum += value * lasted;
    minutes += lasted;
  }
  return minutes === 0 ? null : Math.round(sum / minutes);
}

/** Returns the first point with the lowest or highest value; null without data. */
export function extremeOf(
  { points }: Series,
  which: 'lowest' | 'highest',
): { at: number; value: number } | null {
  let found: { at: number; value: number } | null = null;
  for (const { at, value } of points) {
    if (value === null) continue;
    if (!found || (which === 'lowest' ? value < found.value : value > found.value)) found = { at, value };
  }
  return found;
}

/** Returns a value as customers see it. */
export function shownIn(unit: number, value: number | null): number | null {
  return value === null ? null : value / unit;
}

/** Returns an index time as customers see it. */
export function isoTime(minutes: number): string {
  return new Date(fromKeepaMinutes(minutes)).toISOString().replace('.000Z', 'Z');
}
