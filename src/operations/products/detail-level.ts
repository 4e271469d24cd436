import { decodedRow } from './decode-product.ts';
import { SERIES } from './history.ts';
import { membersOf, type Product } from './product.ts';

export const DETAIL_LEVELS = ['summary', 'lite', 'full'] as const;

export type DetailLevel = (typeof DETAIL_LEVELS)[number];

/** The fields of a product at the level `summary`, in order. */
export const SUMMARY_FIELDS = [
  'asin',
  'parentAsin',
  'title',
  'brand',
  'domainId',
  'price',
  'amazonPrice',
  'listPrice',
  'buyboxPrice',
  'bsr',
  'rating',
  'reviewCount',
  'countNew',
  'monthlySold',
  'image',
  'lastUpdate',
] as const;

/** The fields that account for most of a product's size. */
const LARGE_FIELDS = ['csv', 'salesRanks', 'variationCSV', 'variations'] as const;

/** What the caller asked for in addition to the level. */
export interface Requested {
  /** Keeps csv at the level `lite`. */
  csv: boolean;
  /** The rating and the number of reviews were fetched. */
  rating: boolean;
  /** The Buy Box was fetched. */
  buybox: boolean;
}

/** Explains to the caller which fields a level omits, and how to get them. */
export const DETAIL_HINTS: Record<DetailLevel, string> = {
  summary:
    'Core fields only. detailLevel=lite returns all fields except csv, salesRanks, variationCSV and variations; detailLevel=full returns all fields.',
  lite: 'All fields except csv, salesRanks, variationCSV and variations. detailLevel=full returns all fields; detailLevel=summary returns core fields only.',
  full: 'All fields. detailLevel=lite omits csv, salesRanks, variationCSV and variations, and is much smaller.',
};

/** The fault of a request for history at the level `summary`, which has none. */
export const SUMMARY_HAS_NO_HISTORY =
  'must not be sent with detailLevel=summary, which has no history; use detailLevel=lite or full';

/** Returns the product at a detail level. `lite` counts the members of the family instead of listing them. */
export function atDetailLevel(
  product: Product,
  level: DetailLevel,
  requested: Requested,
): Record<string, unknown> {
  if (level === 'full') return product;
  if (level === 'summary') return summary(product, requested);
  const lite: Record<string, unknown> = { ...product };
  for (const field of LARGE_FIELDS) delete lite[field];
  if (requested.csv && 'csv' in product) lite.csv = product.csv;
  const members = membersOf(product);
  return members ? { ...lite, variationsCount: members.length } : lite;
}

/**
 * Returns a product of an answer, at any level, as a row of the fields of `summary`. A value without data is -1, or null
 * if the answer is decoded.
 */
export function summaryRow(
  shown: Product,
  requested: Pick<Requested, 'rating' | 'buybox'>,
): Record<string, unknown> {
  const decoded = decodedRow(shown);
  if (decoded) return { ...decoded, image: shown.image ?? firstImage(shown) };
  return shown.stats ? summary(shown, { csv: false, ...requested }) : shown;
}

/** Prices keep the product's units; -1 means no data. Requires a product with stats. */
function summary(product: Product, { rating, buybox }: Requested): Record<string, unknown> {
  const stats = namedStats(product);
  // -1 means that the provider has no data, so a value that was not fetched is absent.
  if (!rating && stats.rating === -1) delete stats.rating;
  if (!rating && stats.reviewCount === -1) delete stats.reviewCount;
  if (!buybox && stats.buyboxPrice === -1) delete stats.buyboxPrice;
  return {
    asin: product.asin,
    parentAsin: product.parentAsin ?? null,
    title: product.title ?? null,
    brand: product.brand ?? null,
    domainId: product.domainId,
    ...stats,
    monthlySold: product.monthlySold ?? -1,
    image: firstImage(product),
    lastUpdate: product.lastUpdate ?? -1,
  };
}

/** Returns the file name of the main picture; null without one. */
export function firstImage({ images, imagesCSV }: Product): string | null {
  return images?.[0]?.l ?? imagesCSV?.split(',', 1)[0] ?? images?.[0]?.m ?? null;
}

/** Returns the current values of a product by name. Prices keep its units; -1 means no data. Requires its stats. */
export function namedStats(product: Product): Record<string, number> {
  return {
    price: currentOf(product, SERIES.NEW),
    amazonPrice: currentOf(product, SERIES.AMAZON),
    listPrice: currentOf(product, SERIES.LISTPRICE),
    buyboxPrice: currentOf(product, SERIES.BUY_BOX_SHIPPING),
    bsr: currentOf(product, SERIES.SALES),
    rating: currentOf(product, SERIES.RATING),
    reviewCount: currentOf(product, SERIES.COUNT_REVIEWS),
    countNew: currentOf(product, SERIES.COUNT_NEW),
  };
}

/** Returns the current value of a series, or -1 without data. */
function currentOf(product: Product, index: number): number {
  const values = product.stats?.current;
  const value: unknown = Array.isArray(values) ? values[index] : undefined;
  return typeof value === 'number' && value >= 0 ? value : -1;
}
