import { AS_SENT, type Field, type Particulars } from './field.ts';

const NOT_COLLECTED = '-2: not collected; send `offers`';
const NO_VALUE = '-1 in an entry';
const NO_EXTREME = 'null or [-1, -1] in an entry';

/** The fields of `stats`. */
export const STATISTICS: readonly Field[] = [
  ['current', 'series', 'Current values; a price with shipping is one sum', averaged('current')],
  ['avg', 'series', 'Means of the requested period (`stats`)', averaged('avg')],
  ...['30', '90', '180', '365'].map(
    (days): Field => [`avg${days}`, 'series', `Means of the last ${days} days`, averaged(`avg${days}`)],
  ),
  ['atIntervalStart', 'series', 'Values at the start of the requested period', averaged('atIntervalStart')],
  ['min', 'series', 'Lowest values of the whole history, as [index minutes, value]', extreme('min')],
  ['max', 'series', 'Highest values of the whole history, as [index minutes, value]', extreme('max')],
  ['minInInterval', 'series', 'Lowest values of the requested period, likewise', extreme('minInInterval')],
  ['maxInInterval', 'series', 'Highest values of the requested period, likewise', extreme('maxInInterval')],
  ['isLowest', 'series', 'Whether the current value is the lowest of the whole history'],
  ['isLowest90', 'series', 'Whether the current value is the lowest of the last 90 days'],
  [
    'outOfStockPercentageInInterval',
    'series',
    'Share of the requested period without an offer, in percent',
    { none: '-1 in an entry: unknown, or not a price' },
  ],
  ...['30', '90', '180', '365'].map(
    (days): Field => [
      `outOfStockPercentage${days}`,
      'series',
      `Share of the last ${days} days without an offer, in percent`,
      { none: '-1 in an entry: unknown, or not a price' },
    ],
  ),
  ...['30', '90'].map(
    (days): Field => [
      `outOfStockCountAmazon${days}`,
      'integer',
      `How often the retailer ran out of stock in the last ${days} days`,
    ],
  ),
  ...['30', '90', '180', '365'].map(
    (days): Field => [
      `salesRankDrops${days}`,
      'integer',
      `How often the main sales rank improved in the last ${days} days, an estimate of sales`,
      { none: '-1: unknown' },
    ],
  ),
  [
    'deltaPercent90_monthlySold',
    'integer',
    'Change of `monthlySold` in 90 days, in percent. Negative numbers are values, not missing data',
  ],
  ['totalOfferCount', 'integer', 'Number of live offers, of all conditions'],
  ['retrievedOfferCount', 'integer', 'Number of offers that the provider collected', { none: NOT_COLLECTED }],
  ['offerCountFBA', 'integer', 'Number of live offers that the marketplace fulfils', { none: NOT_COLLECTED }],
  ['offerCountFBM', 'integer', 'Number of live offers that sellers fulfil', { none: NOT_COLLECTED }],
  ['lastOffersUpdate', 'minutes', 'When the provider last updated the offers'],
  ['lastBuyBoxUpdate', 'minutes', 'When the provider last updated the Buy Box'],
  [
    'lightningDealInfo',
    'list',
    'Start and end of the lightning deal, in index minutes',
    { none: 'null: never one. -1 as the end: only announced' },
  ],
  [
    'stockAmazon',
    'integer',
    'Stock of the retailer, at most 10; only with `stock=1`',
    { none: '-2: not collected' },
  ],
  [
    'stockBuyBox',
    'integer',
    'Stock of the Buy Box, at most 10; only with `stock=1`',
    { none: '-2: not collected' },
  ],
  [
    'stockPerCondition3rdFBA',
    'list',
    'Stock of third-party offers that the marketplace fulfils, by the number of the condition',
  ],
  ['stockPerConditionFBM', 'list', 'Stock of offers that sellers fulfil, by the number of the condition'],
  ['sellerIdsLowestFBA', 'list', 'Ids of the sellers with the lowest offers that the marketplace fulfils'],
  ['sellerIdsLowestFBM', 'list', 'Ids of the sellers with the lowest offers that sellers fulfil'],
  ['isAddonItem', 'boolean', 'Whether it is an add-on item'],
  ['tradeInPrice', 'price', 'Trade-in price', { none: '-1: none. -2: not collected' }],
  ['buyBoxPrice', 'price', 'Price of the Buy Box, without shipping', buyBox()],
  ['buyBoxShipping', 'price', 'Shipping of the Buy Box', buyBox()],
  [
    'buyBoxSellerId',
    'text',
    'Id of the seller in the Buy Box',
    { none: '"-1": no seller has the Buy Box. "-2": unknown seller. null: not collected, or no offer' },
  ],
  ['buyBoxIsAmazon', 'boolean', 'Whether the seller is the retailer'],
  ['buyBoxIsFBA', 'boolean', 'Whether the marketplace fulfils'],
  ['buyBoxIsMAP', 'boolean', 'Whether the price is hidden on the page'],
  ['buyBoxIsUnqualified', 'boolean', 'Whether no seller qualified for the Buy Box'],
  ['buyBoxIsShippable', 'boolean', 'Whether it can be shipped'],
  ['buyBoxIsPreorder', 'boolean', 'Whether it is a pre-order'],
  ['buyBoxIsBackorder', 'boolean', 'Whether it is a back-order'],
  ['buyBoxIsUsed', 'boolean', 'Whether the offer is used'],
  ['buyBoxIsWarehouseDeal', 'boolean', 'Whether it is an offer of the warehouse of the retailer'],
  ['buyBoxIsPrimeExclusive', 'boolean', 'Whether it is for Prime members only'],
  ['buyBoxIsPrimeEligible', 'boolean', 'Whether it is eligible for Prime'],
  ['buyBoxIsFreeShippingEligible', 'boolean', 'Whether it is eligible for free shipping'],
  ['buyBoxIsPrimePantry', 'boolean', 'Whether it is a Prime Pantry offer; the provider sent it until 2026'],
  ['buyBoxCondition', 'integer', 'Condition, as in offers'],
  ['buyBoxMinOrderQuantity', 'integer', 'Least quantity of an order; the provider sent it until 2026'],
  ['buyBoxMaxOrderQuantity', 'integer', 'Greatest quantity of an order; the provider sent it until 2026'],
  [
    'buyBoxAvailabilityMessage',
    'text',
    'IN_STOCK, BACKORDER_NO_ETA or BACKORDER_WITH_ETA; until April 2026 the text of the page',
  ],
  ['buyBoxShippingTime', 'list', 'Hours until it is shipped, as [least, most]'],
  ['buyBoxShippingCountry', 'text', 'Country from which it is shipped'],
  ['buyBoxSavingBasis', 'price', 'Struck-through price beside the Buy Box'],
  ['buyBoxSavingBasisType', 'text', 'LIST_PRICE or WAS_PRICE'],
  ['buyBoxSavingPercentage', 'percent', 'Saving that the page shows'],
  [
    'buyBoxStats',
    'object',
    'By seller id: `percentageWon` (percent), `avgPrice` (price), `avgNewOfferCount`, `avgUsedOfferCount`, `isFBA`, `lastSeen` (index minutes)',
    { none: '-1 in a value: unknown' },
  ],
  [
    'buyBoxUsedStats',
    'object',
    'The same for the Buy Box for used products, and `condition`',
    { none: '-1 in a value: unknown' },
  ],
  ['buyBoxUsedPrice', 'price', 'Price of the Buy Box for used products', buyBox()],
  ['buyBoxUsedShipping', 'price', 'Shipping of the Buy Box for used products', buyBox()],
  ['buyBoxUsedSellerId', 'text', 'Id of the seller in the Buy Box for used products'],
  ['buyBoxUsedIsFBA', 'boolean', 'Whether the marketplace fulfils'],
  ['buyBoxUsedCondition', 'integer', 'Condition, 2 to 5, as in offers'],
];

/** The fields of each entry of `offers`. */
export const OFFER_FIELDS: readonly Field[] = [
  ['offerId', 'integer', 'Id of the offer within the product'],
  ['sellerId', 'text', 'Id of the seller'],
  ['lastSeen', 'minutes', 'When the provider last saw the offer. `liveOffersOrder` lists the live ones'],
  [
    'condition',
    'integer',
    '0 unknown, 1 new, 2 used like new, 3 used very good, 4 used good, 5 used acceptable, 6 refurbished, 7 to 10 collectible in the same order, 11 rental',
  ],
  ['conditionComment', 'text', "The seller's comment on the condition"],
  [
    'offerCSV',
    'history',
    'Price, shipping; the last point is the current one',
    {
      none: '-1 in a point: not shippable. -2: unknown',
      decode: '`history.price`, with `value`, `shipping`; both become `null`',
    },
  ],
  ['stockCSV', 'history', 'Stock; only with `stock=1`', { decode: '`history.stock`' }],
  ['primeExclCSV', 'history', 'Price for Prime members', { decode: '`history.primeExclusive`' }],
  ['coupon', 'integer', 'One-time coupon, as in `coupon` of the product'],
  [
    'couponHistory',
    'history',
    'One-time coupon, likewise',
    { none: '0 in a point: no coupon', decode: '`history.coupon`, with `amount`, `percent`' },
  ],
  ['isPrime', 'boolean', 'Whether it is a Prime offer'],
  ['isFBA', 'boolean', 'Whether the marketplace fulfils'],
  ['isMAP', 'boolean', 'Whether the price is hidden on the page'],
  ['isShippable', 'boolean', 'Whether it can be shipped'],
  ['isPreorder', 'boolean', 'Whether it is a pre-order'],
  ['isWarehouseDeal', 'boolean', 'Whether it is an offer of the warehouse of the retailer'],
  ['isAmazon', 'boolean', 'Whether the seller is the retailer'],
  ['isPrimeExcl', 'boolean', 'Whether it is for Prime members only'],
  ['isAddonItem', 'boolean', 'Whether it is an add-on item'],
  ['isScam', 'boolean', AS_SENT],
  ['shipsFromChina', 'boolean', 'Whether it ships from China'],
  ['minOrderQty', 'integer', 'Least quantity of an order'],
  ['lastStockUpdate', 'minutes', 'When the provider last updated the stock', { none: '0: unknown' }],
  [
    'offerDuplicates',
    'list',
    'Further offers of the seller, each as `price`, `shipping`, `conditionComment`',
  ],
];

function averaged(name: string): Particulars {
  return {
    none: NO_VALUE,
    decode: `\`statistics.${name}\`, by the name of the series; without data it is absent`,
  };
}

function extreme(name: string): Particulars {
  return { none: NO_EXTREME, decode: `\`statistics.${name}\`, each as \`time\` and \`value\`` };
}

function buyBox(): Particulars {
  return { none: '-1: no Buy Box. -2: not collected; send `buybox=1`' };
}
