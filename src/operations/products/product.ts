import { fromKeepaMinutes } from './keepa-time.ts';

/**
 * A product as upstream sends it. Upstream adds, renames and removes fields without notice, so every field but the ASIN
 * may be missing, and unknown fields are passed on unchanged.
 */
export interface Product {
  asin: string;
  domainId?: number;
  /** 0 standard, 1 downloadable, 2 e-book, 3 inaccessible, 4 invalid or gone, 5 variation parent. */
  productType?: number | null;
  parentAsin?: string | null;
  title?: string | null;
  brand?: string | null;
  csv?: (number[] | null)[] | null;
  stats?: Record<string, unknown> | null;
  salesRanks?: Record<string, number[] | null> | null;
  images?: { l?: string; m?: string }[] | null;
  imagesCSV?: string | null;
  monthlySold?: number | null;
  lastUpdate?: number | null;
  offers?: Offer[] | null;
  liveOffersOrder?: number[] | null;
  reviews?: Record<string, unknown> | null;
  [field: string]: unknown;
}

export interface Offer {
  lastSeen?: number;
  [field: string]: unknown;
}

/** Returns whether upstream has data about the product, and not only that it is gone or inaccessible. */
export function hasData(product: Product): boolean {
  const gone = product.productType === 3 || product.productType === 4;
  return !gone || typeof product.title === 'string';
}

/** Returns when the provider last updated the product, Unix milliseconds; null if the product does not say. */
export function productUpdatedAt({ lastUpdate }: Product): number | null {
  return typeof lastUpdate === 'number' && lastUpdate > 0 ? fromKeepaMinutes(lastUpdate) : null;
}

/** Returns when the product that was updated first was updated, Unix milliseconds; null if no product says it. */
export function oldestUpdate(products: readonly Product[]): number | null {
  const known = products.map(productUpdatedAt).filter((time) => time !== null);
  return known.length > 0 ? Math.min(...known) : null;
}
