/** The type of value that a field accepts. */
export type Kind = 'range' | 'unitRange' | 'switch' | 'number' | 'numbers' | 'text' | 'texts';

export function kindOf(name: string): Kind | undefined {
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

export function isSortable(field: string): boolean {
  return isRange(field) || NUMBERS.has(field) || TEXTS.has(field) || TEXT_LISTS.has(field);
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
];

const RANGE_METRICS = [
  ...[
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
  ],
  ...['deltaPercent1', 'deltaPercent7', 'deltaPercent30', 'deltaPercent90', 'deltaLast', 'lastPriceChange'],
];

const SWITCH_METRICS = ['backInStock', 'isLowest', 'isLowest90', 'isHighest'];

export const RANGE_METRIC = metricOf(RANGE_METRICS);
export const SWITCH_METRIC = metricOf(SWITCH_METRICS);
export const MONTHLY_RANK = /^srAvg[0-2](0\d|1[01])$/;

function metricOf(metrics: readonly string[]): RegExp {
  return new RegExp(`^(${metrics.join('|')})_(${TYPES.join('|')})$`);
}

const words = (text: string) => new Set(text.trim().split(/\s+/));

export const RANGES: ReadonlySet<string> = words(`
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

export const SWITCHES: ReadonlySet<string> = words(`
  buyBoxIsAmazon buyBoxIsFBA buyBoxIsUnqualified buyBoxIsPreorder buyBoxIsBackorder buyBoxIsPrimeExclusive
  buyBoxIsPrimeEligible buyBoxUsedIsFBA hasParentASIN hasReviews isAdultProduct isEligibleForSuperSaverShipping
  isEligibleForTradeIn isHighestOffer isLowestOffer isPrimeExclusive isSNS newPriceIsMAP singleVariation isHazMat
  isHeatSensitive batteriesRequired batteriesIncluded isMerchOnDemand hasMainVideo hasAPlus hasAPlusFromManufacturer
  isDeal launchpad`);

export const NUMBERS: ReadonlySet<string> = words('salesRankReference');

export const NUMBER_LISTS: ReadonlySet<string> = words(`
  rootCategory categories_include categories_exclude productType availabilityAmazon returnRate buyBoxUsedCondition
  warehouseCondition`);

export const TEXTS: ReadonlySet<string> = words('title title_flag historicalParentASIN buyBoxUsedSellerId');

export const TEXT_LISTS: ReadonlySet<string> = words(`
  author binding brand color department edition format genre label languages manufacturer model mpn partNumber platform productGroup
  publisher size studio type itemTypeKeyword targetAudienceKeyword itemForm activeIngredients specialIngredients
  brandStoreName brandStoreUrlName websiteDisplayGroup websiteDisplayGroupName dealType buyBoxShippingCountry scent
  unitType pattern style material
  buyBoxSellerId sellerIds sellerIdsLowestFBA sellerIdsLowestFBM sellerIdsFBA sellerIdsFBM historicalSellerIds
  buyBoxStatsTopSellerId30 buyBoxStatsTopSellerId90 buyBoxStatsTopSellerId180 buyBoxStatsTopSellerId365
  frequentlyBoughtTogether`);

/** Returns every name but those of the monthly ranks, to suggest one for a misspelt name. */
export function* finderNames(): Generator<string> {
  for (const type of TYPES) {
    for (const metric of RANGE_METRICS) yield* boundsOf(`${metric}_${type}`);
    for (const metric of SWITCH_METRICS) yield `${metric}_${type}`;
  }
  for (const name of RANGES) yield* boundsOf(name);
  for (const names of [SWITCHES, NUMBERS, NUMBER_LISTS, TEXTS, TEXT_LISTS]) yield* names;
}

function boundsOf(name: string): string[] {
  return [`${name}_gte`, `${name}_lte`];
}

/** Maximum items in a list, and characters in a text. */
export const LIST_MOST = 50;
export const TEXT_MOST = 1000;
