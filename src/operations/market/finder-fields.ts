import { z } from 'zod';
import { didYouMean } from '../faults.ts';
import { GROUP_DOCUMENTATION, isRecord, type JsonSchema } from '../params/request.ts';
import { type ExactInteger, exactInteger, got, integerOf, PRINTABLE, VISIBLE } from '../params/scalars.ts';

/** The type of value that a field accepts. */
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

/** Whether a field is on or off. */
export function isFlag(name: string): boolean {
  return kindOf(name) === 'switch';
}

/** Whether a field takes a list of texts, each of which may be excluded. */
export function isTextList(name: string): boolean {
  return kindOf(name) === 'texts';
}

/** Returns the field of a metric of a type of price or count, such as `current_NEW`; null if there is none. */
export function metricField(metric: string, type: string): string | null {
  const name = `${metric}_${type}`;
  return RANGE_METRIC.test(name) || SWITCH_METRIC.test(name) ? name : null;
}

function isRange(name: string): boolean {
  return RANGES.has(name) || RANGE_METRIC.test(name) || MONTHLY_RANK.test(name);
}

export function isSortable(field: string): boolean {
  return isRange(field) || NUMBERS.has(field) || TEXTS.has(field) || TEXT_LISTS.has(field);
}

const TYPES = [
  'AMAZON',
  'NEW',
  'USED',
  'SALES',
  'LISTPRICE',
  'COLLECTIBLE',
  'REFURBISHED',
  'NEW_FBM_SHIPPING',
  'LIGHTNING_DEAL',
  'WAREHOUSE',
  'NEW_FBA',
  'COUNT_NEW',
  'COUNT_USED',
  'COUNT_REFURBISHED',
  'COUNT_COLLECTIBLE',
  'RATING',
  'COUNT_REVIEWS',
  'BUY_BOX_SHIPPING',
  'USED_NEW_SHIPPING',
  'USED_VERY_GOOD_SHIPPING',
  'USED_GOOD_SHIPPING',
  'USED_ACCEPTABLE_SHIPPING',
  'REFURBISHED_SHIPPING',
  'EBAY_NEW_SHIPPING',
  'EBAY_USED_SHIPPING',
  'TRADE_IN',
  'RENT',
  'BUY_BOX_USED_SHIPPING',
  'PRIME_EXCL',
];

const RANGE_METRICS = [
  'current',
  'avg1',
  'avg7',
  'avg30',
  'avg90',
  'avg180',
  'avg365',
  'delta1',
  'delta7',
  'delta30',
  'delta90',
  'deltaPercent1',
  'deltaPercent7',
  'deltaPercent30',
  'deltaPercent90',
  'deltaLast',
  'lastPriceChange',
];

const SWITCH_METRICS = ['backInStock', 'isLowest', 'isLowest90', 'isHighest'];

const RANGE_METRIC = metricOf(RANGE_METRICS);
const SWITCH_METRIC = metricOf(SWITCH_METRICS);
const MONTHLY_RANK = /^srAvg[0-2](0\d|1[01])$/;

function metricOf(metrics: readonly string[]): RegExp {
  return new RegExp(`^(${metrics.join('|')})_(${TYPES.join('|')})$`);
}

const words = (text: string) => new Set(text.trim().split(/\s+/));

const RANGES: ReadonlySet<string> = words(`
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
  variationReviewCount variationRatingCount couponOneTimeAbsolute couponOneTimePercent couponSNSAbsolute
  couponSNSPercent
  businessDiscount fbaFees
  packageHeight packageLength packageWidth packageWeight packageDimension packageQuantity itemHeight itemLength
  itemWidth itemWeight itemDimension numberOfItems numberOfPages unitValue variationCount imageCount videoCount
  hazardousMaterialType`);

const SWITCHES: ReadonlySet<string> = words(`
  buyBoxIsAmazon buyBoxIsFBA buyBoxIsUnqualified buyBoxIsPreorder buyBoxIsBackorder buyBoxIsPrimeExclusive
  buyBoxIsPrimeEligible buyBoxUsedIsFBA hasParentASIN hasReviews isAdultProduct isEligibleForSuperSaverShipping
  isEligibleForTradeIn isHighestOffer isLowestOffer isPrimeExclusive isSNS newPriceIsMAP singleVariation isHazMat
  isHeatSensitive batteriesRequired batteriesIncluded isMerchOnDemand hasMainVideo hasAPlus hasAPlusFromManufacturer
  isDeal launchpad`);

const NUMBERS: ReadonlySet<string> = words('salesRankReference');

const NUMBER_LISTS: ReadonlySet<string> = words(`
  rootCategory categories_include categories_exclude productType availabilityAmazon returnRate buyBoxUsedCondition
  warehouseCondition`);

const TEXTS: ReadonlySet<string> = words('title title_flag historicalParentASIN buyBoxUsedSellerId');

const TEXT_LISTS: ReadonlySet<string> = words(`
  author binding brand color department edition format genre label languages manufacturer model mpn partNumber platform productGroup
  publisher size studio type itemTypeKeyword targetAudienceKeyword itemForm activeIngredients specialIngredients
  brandStoreName brandStoreUrlName websiteDisplayGroup websiteDisplayGroupName dealType buyBoxShippingCountry scent
  unitType pattern style material
  buyBoxSellerId sellerIds sellerIdsLowestFBA sellerIdsLowestFBM sellerIdsFBA sellerIdsFBM historicalSellerIds
  buyBoxStatsTopSellerId30 buyBoxStatsTopSellerId90 buyBoxStatsTopSellerId180 buyBoxStatsTopSellerId365
  frequentlyBoughtTogether`);

/** Returns every name but those of the monthly ranks, to suggest one for a misspelt name. */
function* finderNames(): Generator<string> {
  for (const name of [...namesOf(RANGE_METRICS), ...RANGES]) yield* boundsOf(name);
  yield* namesOf(SWITCH_METRICS);
  for (const names of [SWITCHES, NUMBERS, NUMBER_LISTS, TEXTS, TEXT_LISTS]) yield* names;
}

/** Returns every name but those of the monthly ranks, to suggest one for a misspelt name. */
export function* sortableNames(): Generator<string> {
  for (const names of [namesOf(RANGE_METRICS), RANGES, NUMBERS, TEXTS, TEXT_LISTS]) yield* names;
}

function namesOf(metrics: readonly string[]): string[] {
  return TYPES.flatMap((type) => metrics.map((metric) => `${metric}_${type}`));
}

function boundsOf(name: string): string[] {
  return [`${name}_gte`, `${name}_lte`];
}

/** Maximum items in a list, and characters in a text. */
const LIST_MOST = 50;
const TEXT_MOST = 1000;

/**
 * The filter fields of a selection, which are those of the provider's finder. The canonical input holds the values that
 * are sent upstream: numbers as numbers, lists unique and sorted.
 * @param parameters names of further parameters, to suggest them for misspelt names.
 */
export function filters(parameters: Iterable<string>) {
  const description = 'Filter fields; bounds of ranges end in _gte or _lte';
  const field = z
    .unknown()
    .transform((given, context): Record<string, FilterValue> => {
      const entries = Object.entries(isRecord(given) ? given : {});
      if (entries.length === 0) {
        context.issues.push({
          code: 'custom',
          message: 'must have at least one filter, such as current_SALES_lte',
          input: given,
        });
        return z.NEVER;
      }
      const result: [string, FilterValue][] = [];
      let suggestions = 0;
      for (const [name, value] of entries) {
        const kind = kindOf(name);
        const parsed = kind && KINDS[kind].parse(value);
        if (parsed !== undefined) result.push([name, parsed]);
        else {
          const message = kind
            ? valueProblem(kind, value)
            : `is not a field of the selection${suggestions++ < MOST_SUGGESTIONS ? didYouMean(name, [...parameters, ...finderNames()]) : ''}`;
          context.issues.push({ code: 'custom', message, input: value, path: [name] });
        }
      }
      return Object.fromEntries(result.sort(([a], [b]) => (a < b ? -1 : 1)));
    })
    .meta({ ...FILTERS_SCHEMA, description });
  GROUP_DOCUMENTATION.add(field, { description, required: true, schema: FILTERS_SCHEMA, spread: true });
  return field;
}

/** Returns the problem of a value: of a list, its first wrong item, or else the number of its items. */
function valueProblem(kind: Kind, value: unknown): string {
  const { wanted, parse } = KINDS[kind];
  if (!Array.isArray(value) || (kind !== 'numbers' && kind !== 'texts'))
    return got(`must be ${wanted}`, value);
  const wrong = value.findIndex((item) => parse(item) === undefined);
  return wrong === -1 || value.length > LIST_MOST
    ? `must be ${wanted}, got ${value.length} items`
    : `${got(`must be ${wanted}`, value[wrong])} as item ${wrong + 1}`;
}

/** Suggestions compare a name with a thousand others, and a selection may have a thousand fields. */
const MOST_SUGGESTIONS = 3;

export type FilterValue = number | boolean | string | (number | string)[];

/** The kinds of fields whose values are integers. */
const INTEGERS = new Set<Kind | undefined>(['range', 'number', 'numbers']);

/** Converts filters to upstream's form. */
export function toUpstream(selection: Readonly<Record<string, FilterValue>>): Record<string, unknown> {
  const entries = Object.entries(selection).map(([name, value]): [string, unknown] => {
    if (!INTEGERS.has(kindOf(name))) return [name, value];
    return [name, Array.isArray(value) ? value.map(integerOf) : integerOf(value as ExactInteger)];
  });
  return Object.fromEntries(entries);
}

const KINDS: Record<Kind, { wanted: string; parse(value: unknown): FilterValue | undefined }> = {
  range: { wanted: 'an integer', parse: exactInteger },
  // JSON has numbers beyond the largest one of JavaScript, which are read as Infinity.
  unitRange: {
    wanted: 'a number',
    parse: (value) => (Number.isFinite(value) ? (value as number) : undefined),
  },
  switch: { wanted: '0, 1, true or false', parse: onOrOff },
  number: { wanted: 'an integer', parse: exactInteger },
  numbers: {
    wanted: `an integer or a list of 1 to ${LIST_MOST} integers`,
    parse: (value) => listOf(value, exactInteger),
  },
  text: { wanted: `a text of 1 to ${TEXT_MOST} characters`, parse: shortText },
  texts: {
    wanted: `a text or a list of 1 to ${LIST_MOST} texts`,
    parse: (value) => listOf(value, shortText),
  },
};

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

// Schema of a selection's filters for the documentation: the usual ones by name, the others by name patterns.

const WHOLE: JsonSchema = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};
const TEXT: JsonSchema = { type: 'string', minLength: 1, maxLength: TEXT_MOST, pattern: VISIBLE };

const SCHEMAS: Record<Kind, JsonSchema> = {
  range: WHOLE,
  unitRange: { type: 'number' },
  switch: { type: 'boolean' },
  number: WHOLE,
  numbers: { anyOf: [WHOLE, { type: 'array', items: WHOLE, minItems: 1, maxItems: LIST_MOST }] },
  text: TEXT,
  texts: { anyOf: [TEXT, { type: 'array', items: TEXT, minItems: 1, maxItems: LIST_MOST }] },
};

const anyOf = (names: Iterable<string>) => `(?:${[...names].join('|')})`;
const inner = (pattern: RegExp) => pattern.source.slice(1, -1);

const RANGE_NAME = anyOf([
  ...[...RANGES].filter((name) => name !== 'unitValue'),
  inner(RANGE_METRIC),
  inner(MONTHLY_RANK),
]);

const PATTERNS: Record<Kind, string> = {
  range: `${RANGE_NAME}_(?:gte|lte)`,
  unitRange: 'unitValue_(?:gte|lte)',
  switch: anyOf([...SWITCHES, inner(SWITCH_METRIC)]),
  number: anyOf(NUMBERS),
  numbers: anyOf(NUMBER_LISTS),
  text: anyOf(TEXTS),
  texts: anyOf(TEXT_LISTS),
};

export const SORT_FIELD_PATTERN = `^(?:${anyOf(['unitValue', RANGE_NAME, ...NUMBERS, ...TEXTS, ...TEXT_LISTS])})$`;

const CENTS = 'in cents';
const TIMES_TEN = 'stars x 10';

/** Descriptions of the most used fields. */
const USUAL: Record<string, string> = {
  ...bounds('current_AMAZON', `The retailer's own price, ${CENTS}`),
  ...bounds('current_BUY_BOX_SHIPPING', `Buy Box price with shipping, ${CENTS}`),
  ...bounds('current_NEW', `Lowest new price, ${CENTS}`),
  ...bounds('current_USED', `Lowest used price, ${CENTS}`),
  ...bounds('current_SALES', 'Sales rank'),
  ...bounds('avg30_SALES', 'Mean sales rank of 30 days'),
  ...bounds('monthlySold', 'Units sold in the past month'),
  ...bounds('salesRankDrops30', 'Number of sales rank drops in 30 days'),
  categories_include: 'In one of these categories',
  categories_exclude: 'In none of these categories',
  rootCategory: 'Below one of these root categories',
  brand: 'Of one of these brands',
  productType: 'Of one of these types: 0 standard, 1 downloadable, 2 e-book, 5 variation parent',
  ...bounds('current_RATING', `Rating, ${TIMES_TEN}`),
  ...bounds('current_COUNT_REVIEWS', 'Number of reviews'),
  hasReviews: 'Whether products have reviews',
  ...bounds('deltaPercent30_BUY_BOX_SHIPPING', 'Change of the Buy Box price in 30 days, in percent'),
  isLowest_BUY_BOX_SHIPPING: 'Whether the Buy Box price is the lowest ever',
  title: 'Words in the title',
};

/** A body has at most 64 KiB. */
const LONGEST_PASTED = 65_536;

/** Schema of a selection's filters. */
const FILTERS_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(
      Object.entries(USUAL).map(([name, description]) => [name, { ...schemaOf(name), description }]),
    ),
    selection: {
      type: 'string',
      minLength: 1,
      maxLength: LONGEST_PASTED,
      pattern: VISIBLE,
      description: "A pasted query of the provider's finder: JSON or address",
    },
  },
  patternProperties: Object.fromEntries(
    Object.entries(PATTERNS).map(([kind, pattern]) => [`^${pattern}$`, SCHEMAS[kind as Kind]]),
  ),
  additionalProperties: false,
  minProperties: 1,
  examples: [{ current_SALES_lte: 5000, current_RATING_gte: 40 }],
};

function bounds(field: string, description: string): Record<string, string> {
  return { [`${field}_gte`]: `${description}; minimum`, [`${field}_lte`]: `${description}; maximum` };
}

function schemaOf(name: string): JsonSchema {
  const kind = kindOf(name);
  if (!kind) throw new Error(`${name} is not a field of the finder`);
  return SCHEMAS[kind];
}
