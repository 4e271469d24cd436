import { priceFormat } from '../operations/products/provider-fields.ts';

/** Series of one scale share an axis. A scale `rank` has its lowest value at the top. */
export type ChartScale = 'price' | 'money' | 'rank' | 'stars' | 'count' | 'percent' | 'index' | 'seconds';

interface ProductSeries {
  /** Name in `history` and `statistics` of a decoded product. */
  series: string;
  name: string;
  scale: Extract<ChartScale, 'price' | 'rank' | 'stars' | 'count'>;
  /** Whether a chart shows it at first. */
  shown?: boolean;
}

/** The histories of a product that charts show, in their order. */
export const PRODUCT_SERIES: readonly ProductSeries[] = [
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

/** How the values of a scale are written on a site. */
export function productFormat(scale: ProductSeries['scale'], domain: number): Intl.NumberFormatOptions {
  if (scale === 'price') return priceFormat(domain);
  return scale === 'stars' ? { minimumFractionDigits: 1 } : {};
}
