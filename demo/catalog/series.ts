import type { AsinFacts } from './asins.ts';
import { leafAt } from './categories.ts';
import { fraction, hash } from './random.ts';

const DAY = 1440;

/** A series of values that change only at time steps. */
export interface DemoSeries {
  stepMinutes: number;
  /** Returns [value] or [price, shipping] in the given step; -1 means no value. */
  valueAt(step: number): readonly [number] | readonly [number, number];
}

/** Returns the index time at which the product was first seen, between 2021 and 2025. */
export function trackingSince({ asin }: AsinFacts): number {
  return 5_400_000 + (hash('tracking', asin) % 2_100_000);
}

/** Returns the series of a product by csv index, as upstream has them after an offers call. */
export function seriesOf(facts: AsinFacts, domain: number): Map<number, DemoSeries> {
  const { asin, familySeed } = facts;
  const seed = `${domain}/${asin}`;
  const scale = domain === 5 ? 1.5 : 1;
  const [lowest, highest] = leafAt(facts.leaf).prices;
  const familyPrice = 100 * lowest * (highest / lowest) ** fraction('price', familySeed);
  const basePrice = familyPrice * (0.95 + 0.1 * fraction('price', asin)) * scale;
  const soldByMarketplace = fraction('amazon', familySeed) < 0.5;
  const rating = 32 + (hash('rating', familySeed) % 17);
  const phase = hash('phase', seed) % 26;

  const price = (kind: string, factor: number) => (step: number) => {
    const season = 0.12 * Math.sin(((step + phase) / 26) * 2 * Math.PI);
    const noise = 0.1 * (fraction(kind, seed, step) - 0.5);
    const sale = fraction('sale', seed, step) < 0.08 ? 0.75 : 1;
    return Math.max(99, Math.round((basePrice * factor * (1 + season + noise) * sale) / 10) * 10 - 1);
  };
  const amazon = (step: number) =>
    soldByMarketplace && fraction('stock', seed, step) > 0.06 ? price('amazon', 1)(step) : -1;
  const third = price('third', 1.04);
  const cheapest = (step: number) => {
    const own = amazon(step);
    return own > 0 ? Math.min(own, third(step)) : third(step);
  };
  const shipping = (step: number) => (fraction('shipping', seed, step) < 0.2 ? 499 : 0);
  const weekly = (value: (step: number) => number): DemoSeries => ({
    stepMinutes: 7 * DAY,
    valueAt: (step) => [value(step)],
  });
  const weeklyWithShipping = (value: (step: number) => number): DemoSeries => ({
    stepMinutes: 7 * DAY,
    valueAt: (step) => (value(step) < 0 ? [-1, -1] : [value(step), shipping(step)]),
  });
  const monthly = (value: (step: number) => number): DemoSeries => ({
    stepMinutes: 30 * DAY,
    valueAt: (step) => [value(step)],
  });
  const reviewsAMonth = 1 + (hash('reviews', familySeed) % 60);
  const firstMonth = Math.floor(trackingSince(facts) / (30 * DAY));

  const series: [number, DemoSeries][] = [
    [0, weekly(amazon)],
    [1, weekly(cheapest)],
    [2, weekly((step) => Math.round(cheapest(step) * 0.8))],
    [3, rankSeries(seed)],
    [4, { stepMinutes: 365 * DAY, valueAt: () => [Math.round((basePrice * 1.3) / 100) * 100 - 1] }],
    [7, weeklyWithShipping(price('fbm', 1.08))],
    [10, weekly(price('fba', 1.05))],
    [11, monthly((step) => 1 + (hash('count', seed, step) % 15))],
    [12, monthly((step) => hash('used', seed, step) % 6)],
    [16, monthly((step) => rating + (hash('rating', seed, step) % 2))],
    [17, monthly((step) => Math.max(0, step - firstMonth + 1) * reviewsAMonth)],
    [18, weeklyWithShipping(cheapest)],
    [
      32,
      weeklyWithShipping((step) =>
        fraction('used', seed, step) < 0.3 ? -1 : Math.round(cheapest(step) * 0.75),
      ),
    ],
    [34, monthly((step) => 1 + (hash('fba', seed, step) % 7))],
    [35, monthly((step) => 1 + (hash('fbm', seed, step) % 7))],
  ];
  return new Map(facts.kind === 'parent' ? series.filter(([index]) => index === 3) : series);
}

function rankSeries(seed: string): DemoSeries {
  const baseRank = 50 * 8000 ** fraction('rank', seed);
  return { stepMinutes: DAY, valueAt: (step) => [rankAt(baseRank, seed, step)] };
}

/** Returns the rank of a product in its root category at a time, without its other series. */
export function rootRank(facts: AsinFacts, domain: number, minutes: number): number {
  return valueAt(rankSeries(`${domain}/${facts.asin}`), facts, 3, minutes);
}

/** Returns the rank of a product in a category of its path; deeper categories have better ranks. */
export function categoryRank(rootRank: number, depth: number): number {
  return Math.max(1, Math.round(rootRank / 12 ** depth));
}

/** Returns the points [time, value, ...] at which the value changed, from the product's first time until now. */
export function pointsOf(series: DemoSeries, facts: AsinFacts, index: number, nowMinutes: number): number[] {
  const begin = trackingSince(facts);
  const points: number[] = [];
  const offset = timeOf(series, facts, index, 0);
  let last: readonly number[] = [];
  for (let step = stepAt(series, facts, index, begin); ; step += 1) {
    const time = Math.max(begin, step * series.stepMinutes + offset);
    if (time > nowMinutes) return points;
    const value = series.valueAt(step);
    if (value[0] !== last[0] || value[1] !== last[1]) points.push(time, ...value);
    last = value;
  }
}

/** Returns the value at a time; the sum for price and shipping. */
export function valueAt(series: DemoSeries, facts: AsinFacts, index: number, minutes: number): number {
  return worthAt(series, stepAt(series, facts, index, minutes));
}

/** Returns the value before the current one at a time; -1 means no value. */
export function valueBefore(series: DemoSeries, facts: AsinFacts, index: number, minutes: number): number {
  const present = stepAt(series, facts, index, minutes);
  for (let step = present - 1; step >= stepAt(series, facts, index, trackingSince(facts)); step -= 1) {
    if (worthAt(series, step) !== worthAt(series, present)) return worthAt(series, step);
  }
  return -1;
}

/** Returns the time-weighted mean over a period, ignoring times without a value; -1 means no value. */
export function meanOver(
  series: DemoSeries,
  facts: AsinFacts,
  index: number,
  span: { from: number; to: number },
): number {
  const from = Math.max(span.from, trackingSince(facts));
  let sum = 0;
  let minutes = 0;
  for (let step = stepAt(series, facts, index, from); ; step += 1) {
    const start = Math.max(from, timeOf(series, facts, index, step));
    if (start >= span.to) return minutes === 0 ? -1 : Math.round(sum / minutes);
    const value = worthAt(series, step);
    if (value < 0) continue;
    const end = Math.min(span.to, timeOf(series, facts, index, step + 1));
    sum += value * (end - start);
    minutes += end - start;
  }
}

/** Returns whether the value at a time is the lowest so far. */
export function isLowestEver(series: DemoSeries, facts: AsinFacts, index: number, minutes: number): boolean {
  const last = stepAt(series, facts, index, minutes);
  const present = worthAt(series, last);
  if (present < 0) return false;
  for (let step = stepAt(series, facts, index, trackingSince(facts)); step < last; step += 1) {
    const value = worthAt(series, step);
    if (value >= 0 && value < present) return false;
  }
  return true;
}

function worthAt(series: DemoSeries, step: number): number {
  const [price, shipping = 0] = series.valueAt(step);
  return price < 0 ? -1 : price + shipping;
}

/** Returns the step that contains a time. */
function stepAt(series: DemoSeries, facts: AsinFacts, index: number, minutes: number): number {
  const step = Math.floor(minutes / series.stepMinutes);
  return timeOf(series, facts, index, step) <= minutes ? step : step - 1;
}

/** Returns the start of a step. Each series has its own offset, so that values change every minute. */
function timeOf({ stepMinutes }: DemoSeries, { asin }: AsinFacts, index: number, step: number): number {
  return step * stepMinutes + (hash('minute', asin, index) % stepMinutes);
}

function rankAt(baseRank: number, seed: string, day: number): number {
  const wave = 0.3 * Math.sin(((day + (hash('rank-phase', seed) % 60)) / 60) * 2 * Math.PI);
  return Math.max(1, Math.round(baseRank * (1 + wave + 0.4 * (fraction('rank', seed, day) - 0.5))));
}
