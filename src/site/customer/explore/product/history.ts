import { fromKeepaMinutes } from '../../../../operations/products/keepa-time.ts';
import type { Product } from '../../../../operations/products/product.ts';
import { pointWidth } from '../../../../operations/products/series.ts';
import type { ChartSeries } from '../../../kit/time-chart.tsx';

interface Shown {
  /** Index in `csv` and in the arrays of the statistics. */
  index: number;
  name: string;
  scale: 'price' | 'rank' | 'stars' | 'count';
  /** Whether the chart shows it at first. */
  shown?: boolean;
}

/** The series that the page shows, in the order of the chart. */
const SHOWN: readonly Shown[] = [
  { index: 0, name: 'Retailer', scale: 'price', shown: true },
  { index: 1, name: 'New', scale: 'price', shown: true },
  { index: 18, name: 'Buy Box with shipping', scale: 'price', shown: true },
  { index: 3, name: 'Sales rank', scale: 'rank', shown: true },
  { index: 2, name: 'Used', scale: 'price' },
  { index: 4, name: 'List price', scale: 'price' },
  { index: 10, name: 'New, fulfilled by the site', scale: 'price' },
  { index: 7, name: 'New, sent by the seller', scale: 'price' },
  { index: 16, name: 'Rating', scale: 'stars' },
  { index: 17, name: 'Reviews', scale: 'count' },
  { index: 11, name: 'New offers', scale: 'count' },
];

/** Currencies by the provider's domain number. */
const CURRENCIES: Readonly<Record<number, string>> = {
  ...{ 1: 'USD', 2: 'GBP', 3: 'EUR', 4: 'EUR', 5: 'JPY', 6: 'CAD', 8: 'EUR', 9: 'EUR' },
  ...{ 10: 'INR', 11: 'MXN', 12: 'BRL' },
};

/** How a site's prices are written. */
export function priceFormat(domain: number): Intl.NumberFormatOptions {
  return { style: 'currency', currency: CURRENCIES[domain] ?? 'USD' };
}

/** A price of the provider in the site's currency; null without data. */
export function priceOf(value: number | null | undefined, domain: number): number | null {
  if (typeof value !== 'number' || value < 0) return null;
  // The provider's prices of this site are whole yen.
  return domain === 5 ? value : value / 100;
}

/**
 * The histories of a product, in the site's currency, stars and numbers. Times are Unix milliseconds. The last value holds
 * until the provider's last update.
 */
export function historyOf({ csv, lastUpdate, domainId = 1 }: Product): ChartSeries[] {
  const end = typeof lastUpdate === 'number' && lastUpdate > 0 ? fromKeepaMinutes(lastUpdate) : null;
  return SHOWN.flatMap(({ index, name, scale, shown = false }) => {
    const points = pointsOf(csv?.[index] ?? [], pointWidth(index), (value) => scaled(value, scale, domainId));
    const last = points.at(-1);
    if (!last || points.every(([, value]) => value === null)) return [];
    if (end !== null && end > last[0]) points.push([end, last[1]]);
    return [{ name, scale, format: formatOf(scale, domainId), points, shown }];
  });
}

/** The current values of a product by name, as text; those without data are omitted. */
export function currentOf(
  product: Product,
): { name: string; value: number; format: Intl.NumberFormatOptions }[] {
  const { stats, domainId = 1 } = product;
  const current = Array.isArray(stats?.current) ? (stats.current as unknown[]) : [];
  return SHOWN.flatMap(({ index, name, scale }) => {
    const raw = current[index];
    const value = typeof raw === 'number' && raw >= 0 ? scaled(raw, scale, domainId) : null;
    return value === null ? [] : [{ name, value, format: formatOf(scale, domainId) }];
  });
}

/** Reads [time, value] or [time, price, shipping]; a price with shipping is their sum. A negative value means no data. */
function pointsOf(
  series: readonly number[],
  width: 2 | 3,
  scale: (value: number) => number | null,
): [number, number | null][] {
  const points: [number, number | null][] = [];
  for (let i = 0; i + width <= series.length; i += width) {
    const value = series[i + 1] ?? -1;
    const shipping = width === 3 ? Math.max(0, series[i + 2] ?? 0) : 0;
    points.push([fromKeepaMinutes(series[i] ?? 0), value < 0 ? null : scale(value + shipping)]);
  }
  return points;
}

function scaled(value: number, scale: Shown['scale'], domain: number): number | null {
  return scale === 'price' ? priceOf(value, domain) : scale === 'stars' ? value / 10 : value;
}

function formatOf(scale: Shown['scale'], domain: number): Intl.NumberFormatOptions {
  if (scale === 'price') return priceFormat(domain);
  return scale === 'stars' ? { minimumFractionDigits: 1 } : {};
}
