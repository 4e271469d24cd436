/** How the values of a series are shown. */
export type SeriesKind = 'price' | 'count' | 'stars';

export interface NamedSeries {
  name: string;
  kind: SeriesKind;
  description: string;
}

/** The series of csv and of the statistics, in the order of their indices. */
export const NAMED_SERIES: readonly NamedSeries[] = [
  price('amazon', "The retailer's own price"),
  price('new', 'Lowest new price; with shipping since February 2026'),
  price('used', 'Lowest used price'),
  count('salesRank', 'Sales rank in the main category'),
  price('listPrice', 'List price'),
  price('collectible', 'Lowest price of a collectible'),
  price('refurbished', 'Lowest price of a refurbished product'),
  price('newFbm', 'Lowest new price of offers that sellers fulfil'),
  price('lightningDeal', 'Price of a lightning deal'),
  price('warehouse', 'Price of the warehouse of the retailer'),
  price('newFba', 'Lowest new price of third-party offers that the marketplace fulfils'),
  count('newOffers', 'Number of new offers'),
  count('usedOffers', 'Number of used offers'),
  count('refurbishedOffers', 'Number of refurbished offers'),
  count('collectibleOffers', 'Number of collectible offers'),
  count('offerUpdates', 'Number of offers at each update of the offers'),
  { name: 'rating', kind: 'stars', description: 'Rating, 0 to 5 stars' },
  count('reviewCount', 'Number of reviews'),
  price('buyBox', 'Price of the Buy Box'),
  price('usedLikeNew', 'Lowest price, used like new'),
  price('usedVeryGood', 'Lowest price, used in very good condition'),
  price('usedGood', 'Lowest price, used in good condition'),
  price('usedAcceptable', 'Lowest price, used in acceptable condition'),
  price('collectibleLikeNew', 'Lowest price of a collectible like new'),
  price('collectibleVeryGood', 'Lowest price of a collectible in very good condition'),
  price('collectibleGood', 'Lowest price of a collectible in good condition'),
  price('collectibleAcceptable', 'Lowest price of a collectible in acceptable condition'),
  price('refurbishedWithShipping', 'Lowest price of a refurbished product, with its shipping'),
  price('ebayNew', 'Lowest new price on eBay'),
  price('ebayUsed', 'Lowest used price on eBay'),
  price('tradeIn', 'Trade-in price'),
  price('rental', 'Rental price'),
  price('buyBoxUsed', 'Price of the Buy Box for used products'),
  price('primeExclusive', 'Lowest new price for Prime members only'),
  count('newFbaOffers', 'Number of new offers that the marketplace fulfils'),
  count('newFbmOffers', 'Number of new offers that sellers fulfil'),
];

function price(name: string, description: string): NamedSeries {
  return { name, kind: 'price', description };
}

function count(name: string, description: string): NamedSeries {
  return { name, kind: 'count', description };
}

/** Digits after the decimal point of the currency of a site; the provider counts in the smallest unit. */
export function currencyDigits(domain: number): number {
  return domain === 5 ? 0 : 2;
}
