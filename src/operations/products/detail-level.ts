import type { Product } from './product.ts';
import { SERIES } from './series.ts';

export const DETAIL_LEVELS = ['summary', 'lite', 'full'] as const;

export type DetailLevel = (typeof DETAIL_LEVELS)[number];

/** The fields of a product at the level `summary`, in order. */
export const SUMMARY_FIELDS = [
  ...['asin', 'parentAsin', 'title', 'brand', 'domainId', 'price', 'amazonPrice', 'listPrice', 'buyboxPrice'],
  ...['bsr', 'rating', 'reviewCount', 'countNew', 'monthlySold', 'image', 'lastUpdate'],
] as const;

/** The fields that account for most of a product's size. */
const LARGE_FIELDS = ['csv', 'salesRanks', 'variationCSV'] as const;

/** Explains to the caller which fields a level omits, and how to get them. */
export const DETAIL_HINTS: Record<DetailLevel, string> = {
  summary:
    'Core fields only. detailLevel=lite returns all fields except csv, salesRanks and variationCSV; detailLevel=full returns all fields.',
  lite: 'All fields except csv, salesRanks and variationCSV. detailLevel=full returns all fields; detailLevel=summary returns core fields only.',
  full: 'All fields. detailLevel=lite omits csv, salesRanks and variationCSV, and is much smaller.',
};

/** Returns the product at a detail level. */
export function atDetailLevel(product: Product, level: DetailLevel): Record<string, unknown> {
  if (level === 'full') return product;
  if (level === 'summary') return summary(product);
  const lite = { ...product };
  for (const field of LARGE_FIELDS) delete lite[field];
  return lite;
}

/** Prices keep the product's units; -1 means no data. Requires a product with stats. */
function summary(product: Product): Record<string, unknown> {
  return {
    asin: product.asin,
    parentAsin: product.parentAsin ?? null,
    title: product.title ?? null,
    brand: product.brand ?? null,
    domainId: product.domainId,
    ...namedStats(product),
    monthlySold: product.monthlySold ?? -1,
    image: product.images?.[0]?.l ?? product.imagesCSV?.split(',', 1)[0] ?? null,
    lastUpdate: product.lastUpdate ?? -1,
  };
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
