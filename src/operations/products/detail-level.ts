import { isRecord } from '../params/request.ts';
import { decodedRow } from './decode-product.ts';
import { fromKeepaMinutes, SERIES, SERIES_COUNT } from './history.ts';

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
function productUpdatedAt({ lastUpdate }: Product): number | null {
  return typeof lastUpdate === 'number' && lastUpdate > 0 ? fromKeepaMinutes(lastUpdate) : null;
}

/** Returns when the product that was updated first was updated, Unix milliseconds; null if no product says it. */
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
function membersOf({ variations, variationCSV }: Product): Member[] | null {
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

/** What the caller asked for besides the level. */
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
 * Returns a product of an answer, at any level, as a row of the fields of `summary`: with -1 where the provider has no data,
 * or null if the answer is decoded.
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

function firstImage({ images, imagesCSV }: Product): string | null {
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
