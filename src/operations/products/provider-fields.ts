import { decodedRow } from './decode-product.ts';
import { type DetailLevel, namedStats } from './detail-level.ts';
import { fieldNames } from './dictionary/index.ts';
import type { Member, Product } from './product.ts';

/** The fields of the provider's product model. A product can have others, which are passed on, but cannot be selected. */
export const PROVIDER_PRODUCT_FIELDS: readonly string[] = fieldNames();

/** Further fields of the provider's sellers that can be selected. */
export const PROVIDER_SELLER_FIELDS: readonly string[] = [
  'domainId',
  'trackedSince',
  'trackingSince',
  'lastUpdate',
  'lastRatingUpdate',
  'currentRating',
  'currentRatingCount',
  'ratingsLast30Days',
  'neutralRating',
  'negativeRating',
  'shipsFromChina',
  'isScammer',
  'totalStorefrontAsins',
  'totalStorefrontAsinsCSV',
  'sellerCategoryStatistics',
  'sellerBrandStatistics',
  'competitors',
  'avgBuyBoxCompetitors',
  'buyBoxNewOwnershipRate',
  'buyBoxUsedOwnershipRate',
  'recentFeedback',
  'businessName',
  'address',
  'customerServicesAddress',
  'tradeNumber',
  'vatID',
  'phoneNumber',
  'businessType',
  'shareCapital',
  'representative',
  'email',
];

/** Further fields of the provider's categories that can be selected. */
export const PROVIDER_CATEGORY_FIELDS: readonly string[] = [
  'domainId',
  'contextFreeName',
  'websiteDisplayGroup',
  'isBrowseNode',
  'matched',
  'highestRank',
  'lowestRank',
  'productCount',
  'avgBuyBox',
  'avgBuyBox90',
  'avgBuyBox365',
  'avgBuyBoxDeviation',
  'avgReviewCount',
  'avgRating',
  'sellerCount',
  'brandCount',
  'isFBAPercent',
  'soldByAmazonPercent',
  'hasCouponPercent',
  'avgOfferCountNew',
  'avgOfferCountUsed',
  'avgDeltaPercent30BuyBox',
  'avgDeltaPercent90BuyBox',
  'avgDeltaPercent30Amazon',
  'avgDeltaPercent90Amazon',
  'relatedCategories',
  'topBrands',
];

/** Further fields of the provider's deals that can be selected. */
export const PROVIDER_DEAL_FIELDS: readonly string[] = [
  'parentAsin',
  'rootCat',
  'categories',
  'image',
  'current',
  'currentSince',
  'deltaLast',
  'delta',
  'deltaPercent',
  'avg',
  'creationDate',
  'lastUpdate',
  'lightningStart',
  'lightningEnd',
  'minRating',
  'warehouseCondition',
  'warehouseConditionComment',
  'backInStock',
  'dateIntervalIndex',
  'flags',
  'salesRankDrops30',
  'salesRankDrops90',
  'salesRankDrops180',
  'salesRankDrops365',
];

/** Further fields of the provider's lightning deals that can be selected. */
export const PROVIDER_LIGHTNING_DEAL_FIELDS: readonly string[] = [
  'domainId',
  'lastUpdate',
  'sellerId',
  'sellerName',
  'image',
  'isMAP',
  'rating',
  'totalReviews',
  'variation',
];

/** Currencies by the provider's domain number. */
const CURRENCIES: Readonly<Record<number, string>> = {
  1: 'USD',
  2: 'GBP',
  3: 'EUR',
  4: 'EUR',
  5: 'JPY',
  6: 'CAD',
  8: 'EUR',
  9: 'EUR',
  10: 'INR',
  11: 'MXN',
  12: 'BRL',
};

/** Returns the currency of a site, such as USD. */
export function currencyOf(domain: number): string {
  return CURRENCIES[domain] ?? 'USD';
}

/** How a site's prices are written. */
export function priceFormat(domain: number): Intl.NumberFormatOptions {
  return { style: 'currency', currency: currencyOf(domain) };
}

/** A price of the provider in the site's currency; null without data. */
export function priceOf(value: number | null | undefined, domain: number): number | null {
  if (typeof value !== 'number' || value < 0) return null;
  // The provider's prices of this site are whole yen.
  return domain === 5 ? value : value / 100;
}

/**
 * Returns a family member at a detail level: `summary` has selected fields with named statistics, `lite` omits the price
 * history and keeps only the latest review counts, `full` is the product as upstream sends it.
 * @param product undefined when upstream has no data for the member; then only the family's fields are returned.
 */
export function variationRecord(
  member: Member,
  product: Product | undefined,
  parentAsin: string | null,
  level: DetailLevel,
): Record<string, unknown> {
  const source = product ?? { asin: member.asin };
  const described = {
    asin: member.asin,
    title: source.title ?? null,
    color: source.color ?? attribute(member, 'color'),
    size: source.size ?? attribute(member, 'size'),
    swatchImage: member.image ?? null,
    imagesCSV: source.imagesCSV ?? imagesCsv(source),
    monthlySold: source.monthlySold ?? -1,
    parentAsin: source.parentAsin ?? parentAsin,
    lastUpdate: source.lastUpdate ?? -1,
  };
  if (level === 'summary') return { ...described, stats: namedStats(source), ...codes(source) };
  const {
    upcList: _,
    eanList: __,
    gtinList: ___,
    ...rest
  } = level === 'lite' ? latestReviews(source) : source;
  return { ...rest, ...described, ...codes(source) };
}

/** Returns a member of an answer, at any level, as a flat row. */
export function variationRow(record: Product): Record<string, unknown> {
  const decoded = decodedRow(record);
  if (decoded) return decoded;
  const named = Array.isArray(record.stats?.current) ? namedStats(record) : record.stats;
  return { ...record, ...named };
}

/** Returns the product codes of members that have any. */
function codes(product: Product): Record<string, unknown> {
  const { upcList, eanList, gtinList } = product;
  return Object.fromEntries(
    Object.entries({ upcList, eanList, gtinList }).filter(
      ([, list]) => Array.isArray(list) && list.length > 0,
    ),
  );
}

/** Returns the product without its price history, and with only the last point of its two review series. */
function latestReviews(product: Product): Product {
  const { csv: _, ...rest } = product;
  if (!rest.reviews) return rest;
  const reviews = { ...rest.reviews };
  for (const field of ['ratingCount', 'reviewCount']) {
    const series = reviews[field];
    if (Array.isArray(series)) reviews[field] = series.slice(-2);
  }
  return { ...rest, reviews };
}

function imagesCsv({ images }: Product): string | null {
  const names = (images ?? []).flatMap(({ l, m }) => l ?? m ?? []);
  return names.length > 0 ? names.join(',') : null;
}

function attribute({ attributes }: Member, wanted: string): string | null {
  const found = attributes.find(({ dimension = '' }) => dimension.toLowerCase().startsWith(wanted));
  return found?.value ?? null;
}
