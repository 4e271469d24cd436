import { z } from 'zod';
import { isRecord, quoted } from '../params/request.ts';
import { PRINTABLE } from '../params/scalars.ts';

/**
 * The fields a selection may filter by, as the provider's finder takes them. A filter of the canonical input is
 * what is sent upstream: numbers as numbers, lists unique and sorted.
 */
export function filters() {
  return z
    .unknown()
    .transform((given, context): Record<string, FilterValue> => {
      const entries = Object.entries(isRecord(given) ? given : {});
      if (entries.length === 0) {
        context.issues.push({
          code: 'custom',
          message: 'needs at least one filter, such as current_SALES_lte',
          input: given,
        });
        return z.NEVER;
      }
      const result: [string, FilterValue][] = [];
      for (const [name, value] of entries) {
        const kind = kindOf(name);
        const parsed = kind && KINDS[kind].parse(value);
        if (parsed !== undefined) result.push([name, parsed]);
        else {
          const message = kind
            ? `(${quoted(value)}) must be ${KINDS[kind].wanted}`
            : 'is not a field of the selection';
          context.issues.push({ code: 'custom', message, input: value, path: [name] });
        }
      }
      return Object.fromEntries(result.sort(([a], [b]) => (a < b ? -1 : 1)));
    })
    .meta({ description: 'Filter fields; ranges end in _gte or _lte' }) as unknown as z.ZodType<
    Record<string, FilterValue>
  >;
}

export type FilterValue = number | boolean | string | (number | string)[];

const SORT_FIELDS_MOST = 3;

/** Up to three pairs of a field and a direction; the best rank first unless given. */
export function sortOrder() {
  const wanted = `must be a list of at most ${SORT_FIELDS_MOST} pairs [field, "asc" or "desc"]`;
  const field = z.string(wanted).refine(isSortable, 'is not a field to sort by');
  return z
    .array(z.tuple([field, z.enum(['asc', 'desc'], wanted)], wanted), wanted)
    .max(SORT_FIELDS_MOST, wanted)
    .default([['current_SALES', 'asc']])
    .describe('Pairs of field and direction');
}

const TYPES = [
  ...['AMAZON', 'NEW', 'USED', 'SALES', 'LISTPRICE', 'COLLECTIBLE', 'REFURBISHED', 'NEW_FBM_SHIPPING'],
  ...[
    'LIGHTNING_DEAL',
    'WAREHOUSE',
    'NEW_FBA',
    'COUNT_NEW',
    'COUNT_USED',
    'COUNT_REFURBISHED',
    'COUNT_COLLECTIBLE',
  ],
  ...['RATING', 'COUNT_REVIEWS', 'BUY_BOX_SHIPPING', 'USED_NEW_SHIPPING', 'USED_VERY_GOOD_SHIPPING'],
  ...['USED_GOOD_SHIPPING', 'USED_ACCEPTABLE_SHIPPING', 'REFURBISHED_SHIPPING', 'EBAY_NEW_SHIPPING'],
  ...['EBAY_USED_SHIPPING', 'TRADE_IN', 'RENT', 'BUY_BOX_USED_SHIPPING', 'PRIME_EXCL'],
].join('|');

const RANGE_METRIC = new RegExp(
  `^(current|avg(1|7|30|90|180|365)|delta(1|7|30|90)|deltaPercent(1|7|30|90)|deltaLast|lastPriceChange)_(${TYPES})$`,
);
const SWITCH_METRIC = new RegExp(`^(backInStock|isLowest|isLowest90)_(${TYPES})$`);
const MONTHLY_RANK = /^srAvg[0-2](0\d|1[01])$/;

const words = (text: string) => new Set(text.trim().split(/\s+/));

const RANGES = words(`
  lastOffersUpdate lastPriceChange lastRatingUpdate lastUpdate nextUpdate trackingSince listedSince lightningStart
  lightningEnd publicationDate releaseDate lastBusinessDiscountUpdate
  monthlySold deltaPercent90_monthlySold salesRankDrops30 salesRankDrops90 salesRankDrops180 salesRankDrops365
  salesRankTopPct numberOfTrackings
  outOfStockPercentage90 outOfStockPercentageInInterval outOfStockPercentage90_NEW outOfStockPercentage90_USED
  outOfStockPercentage90_BB outOfStockPercentage90_BB_USED outOfStockCountAmazon30 outOfStockCountAmazon90
  availabilityAmazonMinDelayInDays
  totalOfferCount offerCountFBA offerCountFBM buyBoxEligibleOfferCountsNewFBA buyBoxEligibleOfferCountsNewFBM
  buyBoxEligibleOfferCountsUsedFBA buyBoxEligibleOfferCountsUsedFBM
  buyBoxStatsAmazon30 buyBoxStatsAmazon90 buyBoxStatsAmazon180 buyBoxStatsAmazon365
  buyBoxStatsTopSeller30 buyBoxStatsTopSeller90 buyBoxStatsTopSeller180 buyBoxStatsTopSeller365
  buyBoxStatsSellerCount30 buyBoxStatsSellerCount90 buyBoxStatsSellerCount180 buyBoxStatsSellerCount365
  buyBoxStandardDeviation30 buyBoxStandardDeviation90 buyBoxStandardDeviation365 flipability30 flipability90
  flipability365
  variationReviewCount variationRatingCount couponOneTimeAbsolute couponOneTimePercent couponSNSPercent
  businessDiscount fbaFees
  packageHeight packageLength packageWidth packageWeight packageDimension packageQuantity itemHeight itemLength
  itemWidth itemWeight itemDimension numberOfItems numberOfPages unitValue variationCount imageCount videoCount`);

const SWITCHES = words(`
  buyBoxIsAmazon buyBoxIsFBA buyBoxIsUnqualified buyBoxIsPreorder buyBoxIsBackorder buyBoxIsPrimeExclusive
  buyBoxIsPrimeEligible buyBoxUsedIsFBA hasParentASIN hasReviews isAdultProduct isEligibleForSuperSaverShipping
  isEligibleForTradeIn isHighestOffer isLowestOffer isPrimeExclusive isSNS newPriceIsMAP singleVariation isHazMat
  isHeatSensitive batteriesRequired batteriesIncluded isMerchOnDemand hasMainVideo hasAPlus hasAPlusFromManufacturer
  isDeal launchpad`);

const NUMBERS = words('salesRankReference');

const NUMBER_LISTS = words(`
  rootCategory categories_include categories_exclude productType availabilityAmazon returnRate buyBoxUsedCondition
  warehouseCondition`);

const TEXTS = words('title title_flag historicalParentASIN buyBoxUsedSellerId');

const TEXT_LISTS = words(`
  author binding brand color edition format genre label languages manufacturer model partNumber platform productGroup
  publisher size studio type itemTypeKeyword targetAudienceKeyword itemForm activeIngredients specialIngredients
  brandStoreName brandStoreUrlName websiteDisplayGroup websiteDisplayGroupName dealType buyBoxShippingCountry scent
  unitType pattern style material
  buyBoxSellerId sellerIds sellerIdsLowestFBA sellerIdsLowestFBM sellerIdsFBA sellerIdsFBM historicalSellerIds
  buyBoxStatsTopSellerId30 buyBoxStatsTopSellerId90 buyBoxStatsTopSellerId180 buyBoxStatsTopSellerId365
  frequentlyBoughtTogether`);

type Kind = 'range' | 'unitRange' | 'switch' | 'number' | 'numbers' | 'text' | 'texts';

function kindOf(name: string): Kind | undefined {
  const bound = /^(.+)_(gte|lte)$/.exec(name)?.[1];
  if (bound !== undefined && isRange(bound)) return bound === 'unitValue' ? 'unitRange' : 'range';
  if (SWITCHES.has(name) || SWITCH_METRIC.test(name)) return 'switch';
  if (NUMBERS.has(name)) return 'number';
  if (NUMBER_LISTS.has(name)) return 'numbers';
  if (TEXTS.has(name)) return 'text';
  return TEXT_LISTS.has(name) ? 'texts' : undefined;
}

function isRange(name: string): boolean {
  return RANGES.has(name) || RANGE_METRIC.test(name) || MONTHLY_RANK.test(name);
}

function isSortable(field: string): boolean {
  return isRange(field) || NUMBERS.has(field) || TEXTS.has(field) || TEXT_LISTS.has(field);
}

const BEYOND_NUMBERS = /^\d{16,19}$/;

/** The filters as upstream takes them. */
export function toUpstream(selection: Readonly<Record<string, FilterValue>>): Record<string, unknown> {
  const entries = Object.entries(selection).map(([name, value]): [string, unknown] => {
    if (NUMBERS.has(name)) return [name, asNumber(value)];
    return [name, NUMBER_LISTS.has(name) && Array.isArray(value) ? value.map(asNumber) : value];
  });
  return Object.fromEntries(entries);
}

function asNumber(value: unknown): unknown {
  return typeof value === 'string' ? BigInt(value) : value;
}

const LIST_MOST = 50;
const TEXT_MOST = 1000;

const KINDS: Record<Kind, { wanted: string; parse(value: unknown): FilterValue | undefined }> = {
  range: { wanted: 'an integer', parse: wholeNumber },
  unitRange: { wanted: 'a number', parse: (value) => (typeof value === 'number' ? value : undefined) },
  switch: { wanted: '0, 1, true or false', parse: onOrOff },
  number: { wanted: 'an integer', parse: wholeNumber },
  numbers: {
    wanted: `an integer or a list of at most ${LIST_MOST}`,
    parse: (value) => listOf(value, wholeNumber),
  },
  text: { wanted: `a text of 1 to ${TEXT_MOST} characters`, parse: shortText },
  texts: { wanted: `a text or a list of at most ${LIST_MOST}`, parse: (value) => listOf(value, shortText) },
};

/** An id of a category may lie beyond 2^53: it is kept in digits, and `toUpstream` makes it a number again. */
function wholeNumber(value: unknown): number | string | undefined {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string' && BEYOND_NUMBERS.test(value)) return value;
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

function onOrOff(value: unknown): boolean | undefined {
  if (value === true || value === 1 || value === '1' || value === 'true') return true;
  return value === false || value === 0 || value === '0' || value === 'false' ? false : undefined;
}

function shortText(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text.length > 0 && text.length <= TEXT_MOST && PRINTABLE.test(text) ? text : undefined;
}

function listOf<T extends number | string>(
  value: unknown,
  parse: (item: unknown) => T | undefined,
): T[] | undefined {
  const given: unknown[] = Array.isArray(value) ? value : [value];
  const items = new Set<T>();
  for (const item of given) {
    const parsed = parse(item);
    if (parsed === undefined) return undefined;
    items.add(parsed);
  }
  return items.size === 0 || given.length > LIST_MOST
    ? undefined
    : [...items].sort((a, b) => (a < b ? -1 : 1));
}
