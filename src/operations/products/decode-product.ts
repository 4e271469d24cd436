import { isRecord } from '../params/request.ts';
import type { DetailLevel } from './detail-level.ts';
import {
  currencyDigits,
  fromKeepaMinutes,
  NAMED_SERIES,
  pointWidth,
  SERIES,
  type SeriesKind,
} from './history.ts';
import type { Offer, Product } from './product.ts';

/** Parts of decoded products that only some calls return. */
type Part = 'decoded' | 'history' | 'csv' | 'salesRanks' | 'buyBox' | 'rating';

/** Whether a call returns a part, and the parameter that adds it. */
type PartCondition = readonly [part: Part, isReturned: boolean | undefined, parameter: string];

/** The parts to which series belong, in addition to `history`. */
const PARTS_OF_SERIES: ReadonlyMap<string, readonly Part[]> = new Map<string, readonly Part[]>([
  ...NAMED_SERIES.map(({ name }): [string, readonly Part[]] => [name, ['csv']]),
  ['buyBox', ['csv', 'buyBox']],
  ['buyBoxUsed', ['csv', 'buyBox']],
  ['buyBoxSeller', ['buyBox']],
  ['buyBoxUsedSeller', ['buyBox']],
  ['rating', ['csv', 'rating']],
  ['reviewCount', ['csv', 'rating']],
  ['ratingCountOfVariation', ['rating']],
  ['reviewCountOfVariation', ['rating']],
  ['salesRanks', ['salesRanks']],
]);

/**
 * Returns what look-ups and searches need for a decoded field, and lack.
 * @param buybox whether the Buy Box was fetched, and how to get it.
 */
export function productFieldNeeds(
  field: string,
  input: { decode?: boolean | undefined; history: boolean; detailLevel: DetailLevel; rating: boolean },
  buybox: readonly [isFetched: boolean, parameter: string],
): string[] {
  const { decode, history, detailLevel, rating } = input;
  return decodedFieldNeeds(field, [
    ['decoded', decode, 'decode=1'],
    ['history', history, 'history=1'],
    ['history', detailLevel !== 'summary', 'detailLevel=lite or full'],
    ['salesRanks', detailLevel === 'full', 'detailLevel=full'],
    ['buyBox', ...buybox],
    ['rating', rating, 'rating=1'],
  ]);
}

/** Returns the parameters without which no product of an answer has a decoded field, such as `history.buyBox`. */
export function decodedFieldNeeds(field: string, conditions: readonly PartCondition[]): string[] {
  const [first = '', second = '', third = ''] = field.split('.');
  const parts = partsOf(first, second, third);
  const missing = conditions.filter(([part, isReturned]) => parts.includes(part) && !isReturned);
  return [...new Set(missing.map(([, , parameter]) => parameter))];
}

function partsOf(first: string, second: string, third: string): readonly Part[] {
  if (first === 'history') return ['decoded', 'history', ...(PARTS_OF_SERIES.get(second) ?? [])];
  if (first !== 'statistics') return [];
  // Statistics are there without the histories from which the provider computes them.
  const parts = PARTS_OF_SERIES.get(third) ?? [];
  return ['decoded', ...parts.filter((part) => part !== 'csv')];
}

/** The columns of a history: `time`, and lists of the same length. */
type Columns = Record<string, unknown[]>;

type Read = (entry: unknown) => unknown;

/** One column after the time of each point. */
type Column = readonly [name: string, read: Read];

/** Histories of a product outside csv, by field: their name, and the columns of a point. */
const PRODUCT_HISTORIES: Record<string, (digits: number) => readonly [string, ...Column[]]> = {
  monthlySoldHistory: () => ['monthlySold', ['value', amount]],
  salesRankReferenceHistory: () => ['salesRankCategory', ['categoryId', id]],
  parentAsinHistory: () => ['parentAsin', ['asin', text]],
  couponHistory: (digits) => [
    'coupon',
    ['amount', couponAmount(digits)],
    ['percent', couponPercent],
    ['subscribeAmount', couponAmount(digits)],
    ['subscribePercent', couponPercent],
  ],
  buyBoxSellerIdHistory: () => ['buyBoxSeller', ['sellerId', text]],
  buyBoxUsedHistory: () => ['buyBoxUsedSeller', ['sellerId', text], ['condition', number], ['isFba', flag]],
};

const OFFER_HISTORIES: typeof PRODUCT_HISTORIES = {
  offerCSV: (digits) => ['price', ['value', money(digits)], ['shipping', money(digits)]],
  stockCSV: () => ['stock', ['value', amount]],
  primeExclCSV: (digits) => ['primeExclusive', ['value', money(digits)]],
  couponHistory: (digits) => ['coupon', ['amount', couponAmount(digits)], ['percent', couponPercent]],
};

const REVIEW_HISTORIES: typeof PRODUCT_HISTORIES = {
  ratingCount: () => ['ratingCountOfVariation', ['value', amount]],
  reviewCount: () => ['reviewCountOfVariation', ['value', amount]],
};

/** Columns that read one entry together: a coupon is an amount, or a negative percentage. */
const SHARES_ENTRY = new Set(['percent', 'subscribePercent']);

/**
 * Returns a product whose histories are named series of ISO times and numbers, and whose statistics are numbers by the name of
 * their series. Prices are in the currency of the site; null means no data. The other fields stay as they are.
 */
export function decodeProduct(record: Product, domain: number): Record<string, unknown> {
  const digits = currencyDigits(domain);
  const { csv, salesRanks, stats, offers, reviews, ...rest } = record;
  const [others, kept] = decodeFields(rest, PRODUCT_HISTORIES, digits);
  const [ofReviews, keptReviews] = isRecord(reviews)
    ? decodeFields(reviews, REVIEW_HISTORIES, digits)
    : [{}, reviews];
  const history = { ...decodeCsv(csv, digits), ...decodeRanks(salesRanks), ...others, ...ofReviews };
  return {
    ...kept,
    ...withoutMinusOne(kept),
    ...(reviews === undefined ? {} : { reviews: keptReviews }),
    ...(stats === undefined ? {} : decodeStats(stats, digits)),
    ...decodeNamed(kept, digits),
    ...(Array.isArray(offers) ? { offers: offers.map((offer) => decodeOffer(offer, digits)) } : {}),
    ...(Object.keys(history).length > 0 ? { history } : {}),
  };
}

/** Values outside the series that may be without data. */
const SINGLE_VALUES = ['monthlySold', 'lastUpdate'] as const;

function withoutMinusOne(kept: Record<string, unknown>): Record<string, null> {
  return Object.fromEntries(SINGLE_VALUES.filter((name) => kept[name] === -1).map((name) => [name, null]));
}

function decodeCsv(csv: Product['csv'], digits: number): Record<string, Columns> {
  const found = (csv ?? []).flatMap((series, index) => {
    const named = NAMED_SERIES[index];
    if (!series || !named) return [];
    const read = index === SERIES.OFFER_UPDATES ? offersFetched : reader(named.kind, digits);
    const value: Column = ['value', read];
    const shipping: Column = ['shipping', money(digits)];
    return [[named.name, columnsOf(series, pointWidth(index) === 3 ? [value, shipping] : [value])] as const];
  });
  return Object.fromEntries(found);
}

function decodeRanks(ranks: Product['salesRanks']): Record<string, unknown> {
  if (!ranks) return {};
  const found = Object.entries(ranks).flatMap(([category, series]) =>
    series ? [[category, columnsOf(series, [['value', amount]])] as const] : [],
  );
  return { salesRanks: Object.fromEntries(found) };
}

function decodeOffer(offer: Offer, digits: number): Offer {
  const [history, kept] = decodeFields(offer, OFFER_HISTORIES, digits);
  return { ...kept, ...(Object.keys(history).length > 0 ? { history } : {}) };
}

/** Returns the decoded histories of an object, and the object without them. */
function decodeFields(
  owner: Record<string, unknown>,
  histories: typeof PRODUCT_HISTORIES,
  digits: number,
): [Record<string, Columns>, Record<string, unknown>] {
  const decoded: Record<string, Columns> = {};
  const kept = { ...owner };
  for (const [field, describe] of Object.entries(histories)) {
    delete kept[field];
    const series = owner[field];
    if (!Array.isArray(series)) continue;
    const [name, ...columns] = describe(digits);
    decoded[name] = columnsOf(series, columns);
  }
  return [decoded, kept];
}

/** Returns the columns of a flat series, whose points are a time and one entry for each column. */
export function columnsOf(series: readonly unknown[], columns: readonly Column[]): Columns {
  const entries = columns.filter(([name]) => !SHARES_ENTRY.has(name)).length;
  const width = 1 + entries;
  const points = Math.floor(series.length / width);
  const result: Columns = { time: Array.from({ length: points }, (_, i) => isoTime(series[i * width])) };
  let offset = 0;
  for (const [name, read] of columns) {
    if (!SHARES_ENTRY.has(name)) offset += 1;
    const at = offset;
    result[name] = Array.from({ length: points }, (_, i) => read(series[i * width + at]));
  }
  return result;
}

/** The series of the values that the level `summary` has by name. */
const SUMMARY_SERIES: Record<string, string> = {
  price: 'new',
  amazonPrice: 'amazon',
  listPrice: 'listPrice',
  buyboxPrice: 'buyBox',
  bsr: 'salesRank',
  rating: 'rating',
  reviewCount: 'reviewCount',
  countNew: 'newOffers',
};

/** Moves the named values of the level `summary` to the statistics. */
function decodeNamed(owner: Record<string, unknown>, digits: number): Record<string, unknown> {
  if (!('bsr' in owner)) return {};
  const current: Record<string, unknown> = {};
  const removed: Record<string, undefined> = {};
  for (const [field, name] of Object.entries(SUMMARY_SERIES)) {
    const value = reader(kindOf(name), digits)(owner[field]);
    if (value !== null) current[name] = value;
    removed[field] = undefined;
  }
  return { ...removed, statistics: { current } };
}

/** Returns a decoded product with its current values under the names of the level `summary`. */
export function decodedRow(record: Record<string, unknown>): Record<string, unknown> | null {
  const { current } = (record.statistics ?? {}) as { current?: Record<string, unknown> };
  if (!current) return null;
  const named = Object.entries(SUMMARY_SERIES).map(([field, name]) => [field, current[name]]);
  return { ...record, ...Object.fromEntries(named) };
}

/** The statistics with one entry for each series; the extremes are [time, value]. */
const STATISTICS = ['current', 'avg', 'avg30', 'avg90', 'avg180', 'avg365', 'atIntervalStart'] as const;
const EXTREMES = ['min', 'max', 'minInInterval', 'maxInInterval'] as const;

/** Returns the statistics of each series by name, and the other statistics unchanged. Named current values become `current`. */
function decodeStats(stats: Product['stats'], digits: number): Record<string, unknown> {
  if (!isRecord(stats)) return { stats };
  if ('bsr' in stats) return { stats: undefined, ...decodeNamed(stats, digits) };
  const rest: Record<string, unknown> = { ...stats };
  const statistics: Record<string, unknown> = {};
  for (const field of [...STATISTICS, ...EXTREMES]) {
    if (!Array.isArray(stats[field])) continue;
    delete rest[field];
    statistics[field] = byName(stats[field], digits);
  }
  return { stats: rest, statistics };
}

function byName(values: readonly unknown[], digits: number): Record<string, unknown> {
  const found = NAMED_SERIES.flatMap(({ name, kind }, index) => {
    const entry = values[index];
    const read = reader(kind, digits);
    const value = read(Array.isArray(entry) ? entry[1] : entry);
    if (value === null) return [];
    return [[name, Array.isArray(entry) ? { time: isoTime(entry[0]), value } : value] as const];
  });
  return Object.fromEntries(found);
}

export function reader(kind: SeriesKind, digits: number): Read {
  if (kind === 'price') return money(digits);
  return kind === 'stars' ? stars : amount;
}

/** Times of a product outside its series. */
const TIMES = [
  'lastUpdate',
  'trackingSince',
  'listedSince',
  'lastPriceChange',
  'lastRatingUpdate',
  'lastSoldUpdate',
];

/** Returns a product of an answer as tools show it: the named values of the level `summary` in common units, and ISO times. */
export function readableProduct(record: Record<string, unknown>, domain: number): Record<string, unknown> {
  const digits = currencyDigits(domain);
  const { stats } = record;
  return {
    ...record,
    ...withoutMinusOne(record),
    ...isoTimes(record, TIMES),
    ...namedValues(record, digits),
    ...(isRecord(stats) ? { stats: { ...stats, ...namedValues(stats, digits) } } : {}),
  };
}

function namedValues(owner: Record<string, unknown>, digits: number): Record<string, unknown> {
  const found = Object.entries(SUMMARY_SERIES).filter(([field]) => typeof owner[field] === 'number');
  return Object.fromEntries(
    found.map(([field, name]) => [field, reader(kindOf(name), digits)(owner[field])]),
  );
}

function kindOf(series: string): SeriesKind {
  return NAMED_SERIES.find(({ name }) => name === series)?.kind ?? 'count';
}

const UNKNOWN_TIMES = [0, -1];

/**
 * Returns the fields of a record that are index times, as ISO times; null for 0 and -1, with which the provider says that a time is
 * unknown. Other negative times are before 2011.
 */
export function isoTimes(
  record: Record<string, unknown>,
  names: readonly string[],
): Record<string, string | null> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const time = record[name];
      return typeof time === 'number'
        ? [[name, UNKNOWN_TIMES.includes(time) ? null : isoTime(time)] as const]
        : [];
    }),
  );
}

/** Returns the fields of a record that are prices, in the currency of the site; null without data. */
export function prices(
  record: Record<string, unknown>,
  names: readonly string[],
  domain: number,
): Record<string, unknown> {
  const read = money(currencyDigits(domain));
  return Object.fromEntries(names.filter((name) => name in record).map((name) => [name, read(record[name])]));
}

const AVERAGE_PRICES = ['avgBuyBox', 'avgBuyBox90', 'avgBuyBox365', 'avgBuyBoxDeviation'];

/** Returns the averages of a category or of found products in common units. */
export function readableAverages(record: Record<string, unknown>, domain: number): Record<string, unknown> {
  return {
    ...prices(record, AVERAGE_PRICES, domain),
    ...('avgRating' in record ? { avgRating: stars(record.avgRating) } : {}),
  };
}

/** Returns the reader of prices in the smallest unit. Negative numbers mean that the provider has no data. */
function money(digits: number): Read {
  const unit = 10 ** digits;
  return (entry) => (isAmount(entry) ? entry / unit : null);
}

function stars(entry: unknown): number | null {
  return isAmount(entry) ? entry / 10 : null;
}

export function amount(entry: unknown): number | null {
  return isAmount(entry) ? entry : null;
}

/** The provider negates the number if there were more offers than it fetched. */
function offersFetched(entry: unknown): number | null {
  return typeof entry === 'number' ? Math.abs(entry) : null;
}

function isAmount(entry: unknown): entry is number {
  return typeof entry === 'number' && entry >= 0;
}

function couponAmount(digits: number): Read {
  return (entry) => (typeof entry === 'number' && entry > 0 ? entry / 10 ** digits : null);
}

function couponPercent(entry: unknown): number | null {
  return typeof entry === 'number' && entry < 0 ? -entry : null;
}

/** An id may exceed 2^53, and is then a bigint. */
function id(entry: unknown): unknown {
  return entry === -1 || entry === '-1' ? null : entry;
}

function text(entry: unknown): string | null {
  return typeof entry === 'string' && entry !== '' && entry !== '-1' && entry !== '-2' ? entry : null;
}

function number(entry: unknown): number | null {
  return entry === '' || entry === null || entry === undefined || Number(entry) < 0 ? null : Number(entry);
}

function flag(entry: unknown): boolean | null {
  const value = number(entry);
  return value === null ? null : value === 1;
}

export function isoTime(minutes: unknown): string {
  return new Date(fromKeepaMinutes(Number(minutes))).toISOString().replace('.000Z', 'Z');
}
