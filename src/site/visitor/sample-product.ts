import type { ChartSeries } from '../kit/time-chart.tsx';

const DAY_MS = 86_400_000;
const DAYS = 540;
const LIST_PRICE = 179.99;

/** The name of the product on the front page. It does not exist. */
export const SAMPLE_NAME = 'Lumio Wireless Headphones, Blue';

/** The history of an invented product until a time, which needs no provider and costs no unit: each day has always the same values. */
export function sampleHistory(now: number): ChartSeries[] {
  const today = Math.floor(now / DAY_MS);
  const days = Array.from({ length: DAYS }, (_, i) => today - DAYS + 1 + i);
  const series = (valueOn: (day: number) => number | null) => {
    const points = days.map((day): [number, number | null] => [day * DAY_MS, valueOn(day)]);
    // A price holds until it changes, so only changes are points.
    return points.filter(([, value], i) => i === 0 || i === DAYS - 1 || value !== points[i - 1]?.[1]);
  };
  const price = { scale: 'price', format: { style: 'currency', currency: 'USD' } } as const;
  return [
    { name: 'Buy Box', ...price, points: series(buyBoxOn), shown: true },
    { name: 'List price', ...price, points: series(() => LIST_PRICE), shown: true },
    { name: 'Sales rank', scale: 'rank', points: series(rankOn), shown: true },
    {
      name: 'Rating',
      scale: 'stars',
      format: { minimumFractionDigits: 1 },
      points: series(ratingOn),
      shown: false,
    },
  ];
}

/** What an agent says about the product on a day. */
export function sampleFacts(now: number): { price: number; lowest: number; rank: number; usualRank: number } {
  const today = Math.floor(now / DAY_MS);
  const last = (days: number, valueOn: (day: number) => number) =>
    Array.from({ length: days }, (_, i) => valueOn(today - i));
  const ranks = last(90, rankOn);
  return {
    price: buyBoxOn(today),
    lowest: Math.min(...last(365, buyBoxOn)),
    rank: rankOn(today),
    usualRank: Math.round(ranks.reduce((sum, rank) => sum + rank, 0) / ranks.length),
  };
}

/** The price changes about weekly, and falls for a few days every month. */
function buyBoxOn(day: number): number {
  const week = Math.floor(day / 6);
  const offer = day % 34 < 4 ? 0.8 : 1;
  const season = 1 + 0.06 * Math.cos((2 * Math.PI * day) / 365);
  return Math.round(149 * season * offer * (0.95 + 0.1 * noise(week))) - 0.01;
}

/** Lower prices sell more, so the rank is better. */
function rankOn(day: number): number {
  const effect = (buyBoxOn(day) / 149) ** 3;
  const season = 1 - 0.35 * Math.cos((2 * Math.PI * (day + 20)) / 365);
  return Math.round(900 * effect * season * (0.85 + 0.2 * noise(Math.floor(day / 9)) + 0.1 * noise(day)));
}

function ratingOn(day: number): number {
  return 4.4 + Math.round(2 * noise(Math.floor(day / 60))) / 10;
}

/** A number from 0 to 1, always the same for the same number. */
function noise(n: number): number {
  const value = Math.sin(n * 12.9898) * 43_758.5453;
  return value - Math.floor(value);
}
