import { fromKeepaMinutes } from '../../../../operations/products/keepa-time.ts';
import type { Product } from '../../../../operations/products/product.ts';
import { priceFormat } from '../../../../operations/products/site-prices.ts';
import type { ChartSeries } from '../../../kit/time-chart.tsx';

/** A product of a call with `decode=1`. */
export interface DecodedProduct extends Product {
  history?: Record<string, DecodedSeries>;
  statistics?: { current?: Record<string, number> };
}

/** Lists of the same length. */
export interface DecodedSeries {
  /** ISO 8601. */
  time: string[];
  value?: (number | null)[];
  /** Shipping beside the price in `value`. */
  shipping?: (number | null)[];
}

interface Shown {
  /** Name in `history` and `statistics`. */
  series: string;
  name: string;
  scale: 'price' | 'rank' | 'stars' | 'count';
  /** Whether the chart shows it at first. */
  shown?: boolean;
}

/** The series that the page shows, in the order of the chart. */
const SHOWN: readonly Shown[] = [
  { series: 'amazon', name: 'Retailer', scale: 'price', shown: true },
  { series: 'new', name: 'New', scale: 'price', shown: true },
  { series: 'buyBox', name: 'Buy Box with shipping', scale: 'price', shown: true },
  { series: 'salesRank', name: 'Sales rank', scale: 'rank', shown: true },
  { series: 'used', name: 'Used', scale: 'price' },
  { series: 'listPrice', name: 'List price', scale: 'price' },
  { series: 'newFba', name: 'New, fulfilled by the site', scale: 'price' },
  { series: 'newFbm', name: 'New, sent by the seller', scale: 'price' },
  { series: 'rating', name: 'Rating', scale: 'stars' },
  { series: 'reviewCount', name: 'Reviews', scale: 'count' },
  { series: 'newOffers', name: 'New offers', scale: 'count' },
];

/** The histories of a product. The last value holds until the provider's last update. Times are Unix milliseconds. */
export function historyOf({ history = {}, lastUpdate, domainId = 1 }: DecodedProduct): ChartSeries[] {
  const end = typeof lastUpdate === 'number' && lastUpdate > 0 ? fromKeepaMinutes(lastUpdate) : null;
  return SHOWN.flatMap(({ series, name, scale, shown = false }) => {
    const points = pointsOf(history[series]);
    const last = points.at(-1);
    if (!last || points.every(([, value]) => value === null)) return [];
    if (end !== null && end > last[0]) points.push([end, last[1]]);
    return [{ name, scale, format: formatOf(scale, domainId), points, shown }];
  });
}

/** The current values of a product by name; those without data are omitted. */
export function currentOf({
  statistics,
  domainId = 1,
}: DecodedProduct): { name: string; value: number; format: Intl.NumberFormatOptions }[] {
  return SHOWN.flatMap(({ series, name, scale }) => {
    const value = statistics?.current?.[series];
    return value === undefined ? [] : [{ name, value, format: formatOf(scale, domainId) }];
  });
}

/** A price with shipping is their sum. */
function pointsOf({ time = [], value, shipping }: Partial<DecodedSeries> = {}): [number, number | null][] {
  return time.map((at, i) => {
    const amount = value?.[i] ?? null;
    return [Date.parse(at), amount === null ? null : Math.round((amount + (shipping?.[i] ?? 0)) * 100) / 100];
  });
}

function formatOf(scale: Shown['scale'], domain: number): Intl.NumberFormatOptions {
  if (scale === 'price') return priceFormat(domain);
  return scale === 'stars' ? { minimumFractionDigits: 1 } : {};
}
