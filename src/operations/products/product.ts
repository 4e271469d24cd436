import { isRecord } from '../params/request.ts';
import { fromKeepaMinutes, SERIES_COUNT } from './history.ts';

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

/** Returns when the provider last updated the product, Unix milliseconds; null if the product does not state it. */
function productUpdatedAt({ lastUpdate }: Product): number | null {
  return typeof lastUpdate === 'number' && lastUpdate > 0 ? fromKeepaMinutes(lastUpdate) : null;
}

/** Returns the earliest time at which the provider updated one of the products, Unix milliseconds; null if no product states its time. */
export function oldestUpdate(products: readonly Product[]): number | null {
  const known = products.map(productUpdatedAt).filter((time) => time !== null);
  return known.length > 0 ? Math.min(...known) : null;
}

/** Arrays of the stats with one entry for each series, and the value of an entry without data. */
const STATS_ARRAYS = {
  current: -1,
  avg: -1,
  avg30: -1,
  avg90: -1,
  avg180: -1,
  avg365: -1,
  atIntervalStart: -1,
  min: null,
  max: null,
  minInInterval: null,
  maxInInterval: null,
  isLowest: false,
  isLowest90: false,
  outOfStockPercentageInInterval: -1,
  outOfStockPercentage30: -1,
  outOfStockPercentage90: -1,
  outOfStockPercentage180: -1,
  outOfStockPercentage365: -1,
} as const;

/** The types of the fields that this code reads. */
const KINDS: Record<string, (value: unknown) => boolean> = {
  title: isText,
  imagesCSV: isText,
  csv: Array.isArray,
  liveOffersOrder: Array.isArray,
  offers: isListOfRecords,
  images: isListOfRecords,
  stats: isRecord,
  salesRanks: isRecord,
  reviews: isRecord,
};

/** Returns the products of an answer of the provider, normalised. */
export function productsIn(answer: unknown): Product[] {
  const { products } = (isRecord(answer) ? answer : {}) as { products?: unknown };
  return Array.isArray(products) ? products.filter(isProduct).map(normaliseProduct) : [];
}

/** Returns a function that finds a product in an answer. */
export function productOf(asin: string): (answer: unknown) => Product | undefined {
  return (answer) => productsIn(answer).find((product) => product.asin === asin);
}

/** Returns whether an element of an answer is a product. */
function isProduct(value: unknown): value is Product {
  return isRecord(value) && typeof (value as Product).asin === 'string';
}

/**
 * Returns the product with csv and stats of the documented number of series. A field of an unexpected type becomes null,
 * so that one malformed field does not fail the whole answer.
 */
export function normaliseProduct(product: Product): Product {
  const result = { ...product };
  for (const [field, isRightKind] of Object.entries(KINDS)) {
    if (field in result && !isRightKind(result[field])) result[field] = null;
  }
  const { csv, stats, salesRanks } = result;
  if (csv) result.csv = padded(csv.map(listOrNull), null);
  if (salesRanks) {
    result.salesRanks = Object.fromEntries(
      Object.entries(salesRanks).map(([category, series]) => [category, listOrNull(series)]),
    );
  }
  if (stats) {
    result.stats = { ...stats };
    for (const [field, nothing] of Object.entries(STATS_ARRAYS)) {
      const values = stats[field];
      if (Array.isArray(values)) result.stats[field] = padded(values, nothing);
    }
  }
  return result;
}

function padded<T, N>(values: readonly T[], nothing: N): (T | N)[] {
  const missing = SERIES_COUNT - values.length;
  return missing > 0 ? [...values, ...Array<N>(missing).fill(nothing)] : [...values];
}

function listOrNull<T>(value: readonly T[] | null): T[] | null {
  return Array.isArray(value) ? (value as T[]) : null;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isListOfRecords(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRecord);
}

/** One member of a variation family, as listed in the family's product. */
export interface Member {
  asin: string;
  image?: string | undefined;
  attributes: readonly { dimension?: string; value?: string }[];
}

interface Family {
  /** null for a product without variations. */
  parentAsin: string | null;
  members: readonly Member[];
}

/** Returns the ASIN of the parent to fetch for the product's family, or null when the product itself contains it. */
export function parentToAsk(product: Product): string | null {
  return membersOf(product) === null && product.parentAsin ? product.parentAsin : null;
}

/**
 * Returns the family of a product, from the product or its parent. Children usually list the full family as well.
 * @param parent the product that `parentToAsk` returned, if any.
 */
export function familyOf(product: Product, parent: Product | undefined): Family {
  const members = membersOf(product) ?? (parent && membersOf(parent));
  if (!members) return { parentAsin: null, members: [{ asin: product.asin, attributes: [] }] };
  return { parentAsin: product.parentAsin ?? product.asin, members };
}

/** Returns the product without the list of its family. */
export function withoutFamily({ variations: _, variationCSV: __, ...product }: Product): Product {
  return product;
}

/** Returns whether upstream knows the product. */
export function isKnown(product: Product | undefined): product is Product {
  return product !== undefined && hasData(product);
}

/** Returns the members of the family that the product lists, or null when it lists none. */
export function membersOf({ variations, variationCSV }: Product): Member[] | null {
  if (Array.isArray(variations) && variations.length > 0) {
    return (variations as (Partial<Member> | null)[]).flatMap((member) =>
      typeof member?.asin === 'string'
        ? [{ asin: member.asin, image: member.image, attributes: member.attributes ?? [] }]
        : [],
    );
  }
  // Data stored before 2026 has only the ASINs.
  if (typeof variationCSV !== 'string' || variationCSV === '') return null;
  return variationCSV.split(',').map((asin) => ({ asin, attributes: [] }));
}
