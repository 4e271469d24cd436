import { DAY } from '../minutes.ts';
import { all } from '../words.ts';

const COUNT = 36;

/** The series with [time, price, shipping]; statistics contain the sum of price and shipping. */
export const WITH_SHIPPING: ReadonlySet<number> = new Set([7, 18, 32]);

export type Point = [time: number, value: number];

/** Returns the statistics of a product, as upstream calculates them from its series. */
export function statsOf(
  csv: readonly (readonly number[] | null)[],
  nowMinutes: number,
  days: number,
): Record<string, unknown> {
  const series = Array.from({ length: COUNT }, (_, index) => toPoints(csv[index] ?? null, index));
  const each = <T>(compute: (points: Point[]) => T, nothing: T) =>
    series.map((points) => (points.length > 0 ? compute(points) : nothing));
  const average = (span: number) => each((points) => mean(points, nowMinutes - span * DAY, nowMinutes), -1);
  const since = (span: number) => (points: Point[]) =>
    points.filter(([time]) => time >= nowMinutes - span * DAY);
  const isPrice = (index: number) => ![3, 11, 12, 16, 17, 34, 35].includes(index);
  const outOfStock = (span: number) =>
    series.map((points, index) =>
      isPrice(index) && points.length > 0 ? missingShare(points, nowMinutes - span * DAY, nowMinutes) : -1,
    );
  const rankDrops = (span: number) => rankDropsOf(series[3] ?? [], nowMinutes - span * DAY);
  const outOfStockCount = (span: number) =>
    since(span)(series[0] ?? []).filter(([, price]) => price < 0).length;
  const current = each((points) => points.at(-1)?.[1] ?? -1, -1);
  return {
    current,
    avg: average(days),
    ...ofSpans('avg', average),
    atIntervalStart: each((points) => valueAtTime(points, nowMinutes - days * DAY), -1),
    min: each((points) => extreme(points, (a, b) => a < b), null),
    max: each((points) => extreme(points, (a, b) => a > b), null),
    minInInterval: each((points) => extreme(since(days)(points), (a, b) => a < b), null),
    maxInInterval: each((points) => extreme(since(days)(points), (a, b) => a > b), null),
    isLowest: each((points) => isExtreme(points, points), false),
    isLowest90: each((points) => isExtreme(points, since(90)(points)), false),
    outOfStockPercentageInInterval: outOfStock(days),
    ...ofSpans('outOfStockPercentage', outOfStock),
    ...ofSpans('salesRankDrops', rankDrops),
    totalOfferCount: Math.max(0, current[11] ?? 0) + Math.max(0, current[12] ?? 0),
    ...all('statistics do not know', -2),
    ...all('statistics have no', null),
    lastOffersUpdate: nowMinutes - DAY,
    outOfStockCountAmazon30: outOfStockCount(30),
    outOfStockCountAmazon90: outOfStockCount(90),
  };
}

/** Returns the statistics of the usual numbers of days, by name. */
export function ofSpans<T>(name: string, compute: (days: number) => T): Record<string, T> {
  return Object.fromEntries([30, 90, 180, 365].map((days) => [`${name}${days}`, compute(days)]));
}

/** Returns how often a rank became clearly better after a time. */
export function rankDropsOf(points: readonly Point[], from: number): number {
  return points.filter(([time, rank], i) => time >= from && rank < (points[i - 1]?.[1] ?? 0) * 0.9).length;
}

/** Returns the points of a csv series, with price and shipping as one number. */
export function toPoints(series: readonly number[] | null, index: number): Point[] {
  const points: Point[] = [];
  const width = WITH_SHIPPING.has(index) ? 3 : 2;
  for (let at = 0; at < (series?.length ?? 0); at += width) {
    const price = series?.[at + 1] ?? -1;
    const shipping = width === 3 && price >= 0 ? (series?.[at + 2] ?? 0) : 0;
    points.push([series?.[at] ?? 0, price + shipping]);
  }
  return points;
}

export function valueAtTime(points: readonly Point[], time: number): number {
  return points.findLast(([from]) => from <= time)?.[1] ?? -1;
}

/** Returns the time-weighted mean over a period, ignoring times without a value. */
export function mean(points: readonly Point[], from: number, to: number): number {
  let sum = 0;
  let minutes = 0;
  points.forEach(([time, value], i) => {
    const start = Math.max(from, time);
    const end = Math.min(to, points[i + 1]?.[0] ?? to);
    if (end <= start || value < 0) return;
    sum += value * (end - start);
    minutes += end - start;
  });
  return minutes === 0 ? -1 : Math.round(sum / minutes);
}

/** Returns the percentage of a period without a value. */
function missingShare(points: readonly Point[], from: number, to: number): number {
  let missing = 0;
  points.forEach(([time, value], i) => {
    const minutes = Math.min(to, points[i + 1]?.[0] ?? to) - Math.max(from, time);
    if (value < 0 && minutes > 0) missing += minutes;
  });
  return Math.round((100 * missing) / (to - from));
}

function extreme(points: readonly Point[], beats: (a: number, b: number) => boolean): Point | null {
  return points.reduce<Point | null>(
    (best, point) => (point[1] >= 0 && (!best || beats(point[1], best[1])) ? point : best),
    null,
  );
}

function isExtreme(all: readonly Point[], within: readonly Point[]): boolean {
  const lowest = extreme(within, (a, b) => a < b);
  const last = all.at(-1)?.[1] ?? -1;
  return lowest !== null && last >= 0 && last <= lowest[1];
}
