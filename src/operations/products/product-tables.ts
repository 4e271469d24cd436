import { DAY_MS } from '../../platform/durations.ts';
import { type Domain, SITES } from '../params/domain.ts';
import { isRecord } from '../params/request.ts';
import { type Column, columnsFrom, type Row } from '../tables/columns.ts';
import type { Table } from '../tables/tables.ts';
import { decodedRow, decodeProduct, isoTimes, readableProduct } from './decode-product.ts';
import { summaryRow } from './detail-level.ts';
import { fromKeepaMinutes, NAMED_SERIES } from './history.ts';
import type { Offer, Product } from './product.ts';
import { currencyOf, variationRow } from './provider-fields.ts';

/** What the tables read of an input. */
interface TableInput {
  table?: string | undefined;
  rating?: boolean | undefined;
  buybox?: boolean | undefined;
  offers?: number | undefined;
  /** The period of the histories. */
  days?: number | undefined;
  historyDays?: number | undefined;
  dateRange?: { start: number; end: number } | undefined;
}

const UNITS = { price: 'in the currency of the site', count: '', stars: 'in stars, 0 to 5' } as const;

const SITE_COLUMNS = columnsFrom({
  asin: ['text', 'ASIN of the product'],
  country: ['text', 'Site code, such as us'],
});

const VALUE_COLUMNS = columnsFrom({
  currency: ['text', 'Currency of the prices, such as USD'],
  price: ['number', 'Lowest new price, in the currency of the site'],
  amazonPrice: ['number', "The retailer's own price, in the currency of the site"],
  listPrice: ['number', 'List price, in the currency of the site'],
  buyboxPrice: [
    'number',
    'Buy Box price with shipping, in the currency of the site; only with buybox or offers',
  ],
  bsr: ['integer', 'Sales rank in the main category'],
  rating: ['number', 'Rating in stars, 0 to 5; only with rating'],
  reviewCount: ['integer', 'Number of reviews; only with rating'],
  countNew: ['integer', 'Number of new offers'],
  monthlySold: ['integer', 'Units sold in the past month'],
});

const UPDATED = columnsFrom({ lastUpdate: ['time', 'When the provider last updated the product'] });

const PRODUCT_COLUMNS: readonly Column[] = [
  ...SITE_COLUMNS,
  ...columnsFrom({
    domainId: ['integer', 'Site number'],
    parentAsin: ['text', 'ASIN of the parent; empty for a product without variations'],
    title: ['text', 'Title'],
    brand: ['text', 'Brand'],
  }),
  ...VALUE_COLUMNS,
  ...columnsFrom({ image: ['text', 'File name of the first image'] }),
  ...UPDATED,
];

const CODES = columnsFrom({
  codes: ['text', 'The requested codes that the product has, separated by blanks'],
});

const VARIATION_COLUMNS: readonly Column[] = [
  ...SITE_COLUMNS,
  ...columnsFrom({
    parentAsin: ['text', 'ASIN of the parent'],
    title: ['text', 'Title'],
    color: ['text', 'Colour'],
    size: ['text', 'Size'],
  }),
  ...VALUE_COLUMNS,
  ...UPDATED,
];

type Records = (data: Record<string, unknown>) => readonly Product[];

/** A row for each product. @param fetched what the provider was asked for; other values have no data. */
export function productTable<Input extends TableInput>(
  recordsOf: Records,
  settings: {
    fetched: (input: Input) => { rating: boolean; buybox: boolean };
    needs?: (input: Input) => string | null;
    lacks?: (input: Input) => string | null;
  },
): Table<Input> {
  const { fetched, ...conditions } = settings;
  return {
    ...conditions,
    columns: (input) => ('codes' in input && input.codes ? [...PRODUCT_COLUMNS, ...CODES] : PRODUCT_COLUMNS),
    *rows(data, input) {
      const site = siteOf(data);
      for (const record of recordsOf(data)) {
        const row = valuesOf(record, summaryRow(record, fetched(input)), site.domainId);
        const { codes } = record;
        yield { ...row, ...site, codes: Array.isArray(codes) ? codes.join(' ') : null };
      }
    },
  };
}

/** A row for each member of a family. */
export function variationTable<Input>(recordsOf: Records): Table<Input> {
  return {
    columns: () => VARIATION_COLUMNS,
    *rows(data) {
      const site = siteOf(data);
      for (const record of recordsOf(data))
        yield { ...valuesOf(record, variationRow(record), site.domainId), ...site };
    },
  };
}

/** Returns the columns of the site of an answer or a product. */
export function siteOf({ domainId }: { domainId?: unknown }): {
  domainId: Domain;
  country: string;
  currency: string;
} {
  const domain = domainId as Domain;
  return { domainId: domain, country: SITES[domain], currency: currencyOf(domain) };
}

/** Returns a row of a record in common units. @param row the record as a row of the level `summary`. */
function valuesOf(record: Product, row: Record<string, unknown>, domain: Domain): Row {
  return decodedRow(record) ? { ...row, ...isoTimes(row, ['lastUpdate']) } : readableProduct(row, domain);
}

const HISTORY_COLUMNS: readonly Column[] = [
  ...SITE_COLUMNS,
  ...columnsFrom({
    series: ['text', 'Name of the series, such as new; ranks in a category are salesRanks.CATEGORY'],
    time: ['time', 'When the value began to apply'],
    value: ['number', 'The value from this time on: prices in the currency of the site, ratings in stars'],
    shipping: ['number', 'Shipping, in addition to the price; only in series of prices with shipping'],
    text: ['text', 'The value of a series of texts, such as the id of a seller'],
  }),
];

/** A row for each change of a value. */
export function historyTable<Input extends object>(
  recordsOf: Records,
  needs: (input: Input) => string | null,
): Table<Input> {
  return {
    needs,
    columns: () => HISTORY_COLUMNS,
    *rows(data) {
      const { domainId, country } = siteOf(data);
      for (const record of recordsOf(data)) {
        const place = { asin: record.asin, country };
        for (const [name, columns] of seriesOf(record, domainId)) yield* pointsOf(place, name, columns);
      }
    },
  };
}

type Columns = Readonly<Record<string, readonly unknown[]>>;

/** Returns the histories of a product by name. Those of ranks have the category in their names. */
function seriesOf(record: Product, domain: Domain): [string, Columns][] {
  const decoded = isRecord(record.history) ? record : decodeProduct(record, domain);
  const history = (decoded.history ?? {}) as Record<string, Columns>;
  const { salesRanks, ...others } = history as { salesRanks?: Record<string, Columns> } & typeof history;
  const ranks = Object.entries(salesRanks ?? {}).map(([category, columns]): [string, Columns] => [
    `salesRanks.${category}`,
    columns as Columns,
  ]);
  return [...Object.entries(others), ...ranks];
}

function* pointsOf(place: Row, name: string, { time = [], ...columns }: Columns): Generator<Row> {
  const { value, shipping, ...others } = columns;
  if (value) {
    for (const [i, at] of time.entries())
      yield { ...place, series: name, time: at, value: value[i], shipping: shipping?.[i] };
  }
  for (const [part, values] of Object.entries(others)) {
    for (const [i, at] of time.entries())
      yield { ...place, series: `${name}.${part}`, time: at, ...valueOrText(values[i]) };
  }
}

function valueOrText(value: unknown): Row {
  if (typeof value === 'number') return { value };
  if (typeof value === 'boolean') return { value: Number(value) };
  return { text: typeof value === 'string' || typeof value === 'bigint' ? String(value) : null };
}

const DAILY_SERIES = [
  ...NAMED_SERIES,
  { name: 'monthlySold', kind: 'count', description: 'Units sold in the past month' } as const,
];

const DAILY_COLUMNS: readonly Column[] = [
  ...SITE_COLUMNS,
  ...columnsFrom({ day: ['date', 'Day, in UTC'] }),
  ...DAILY_SERIES.map(
    ({ name, kind, description }): Column => ({
      name,
      type: kind === 'count' ? 'integer' : 'number',
      meaning: `${[description, UNITS[kind]].filter(Boolean).join(', ')}; at the end of the day`,
    }),
  ),
];

/** The most days of a product, so that a malformed time of the provider makes no endless table. */
const MOST_DAYS = 10_000;

/**
 * A row for each day, with the value of each series at its end: the last value before it still applies. The days are those of the
 * requested period, or begin with the first value, and end with the last update of the product. The last update always has a row.
 */
export function dailyTable<Input extends object>(
  recordsOf: Records,
  needs: (input: Input) => string | null,
): Table<Input> {
  return {
    needs,
    columns: () => DAILY_COLUMNS,
    *rows(data, input, at) {
      const { domainId, country } = siteOf(data);
      for (const record of recordsOf(data))
        yield* daysOf(record, { domainId, country }, input as TableInput, at);
    },
  };
}

function* daysOf(
  record: Product,
  { domainId, country }: { domainId: Domain; country: string },
  input: TableInput,
  at: number | undefined,
): Generator<Row> {
  const series = seriesOf(record, domainId).flatMap(([name, { time = [], value }]) =>
    value ? [{ name, days: time.map((at) => dayOf(Date.parse(String(at)))), value, next: 0 }] : [],
  );
  const first = Math.min(...series.map(({ days: [day = Number.POSITIVE_INFINITY] }) => day));
  if (!Number.isFinite(first)) return;
  const last = Math.max(...series.map(({ days }) => days.at(-1) ?? first));
  const [from, to] = periodOf(record, input, { first, last, at });
  for (let day = from; day <= Math.min(to, from + MOST_DAYS - 1); day += 1) {
    const row: Record<string, unknown> = { asin: record.asin, country, day: isoDay(day) };
    for (const one of series) {
      while (one.next < one.days.length && (one.days[one.next] ?? 0) <= day) one.next += 1;
      row[one.name] = one.value[one.next - 1];
    }
    yield row;
  }
}

/** Returns the first and the last day of a product, as numbers of days since 1970. */
function periodOf(
  { lastUpdate }: Product,
  { days, historyDays, dateRange }: TableInput,
  { first, last, at }: { first: number; last: number; at: number | undefined },
): [from: number, to: number] {
  // The last point of a lightning deal may be its end, in the future.
  const end =
    typeof lastUpdate === 'number' && lastUpdate > 0
      ? dayOf(fromKeepaMinutes(lastUpdate))
      : Math.min(last, dayOf(at ?? Number.POSITIVE_INFINITY));
  if (dateRange) return [Math.max(first, dayOf(dateRange.start)), Math.min(end, dayOf(dateRange.end))];
  const wanted = days ?? historyDays;
  if (wanted === undefined) return [first, end];
  // The histories are cut to the days before the answer: on earlier days, values that there were are missing.
  const today = at === undefined ? end : Math.max(end, dayOf(at));
  return [Math.min(end, Math.max(first, today - wanted + 1)), end];
}

function dayOf(unixMs: number): number {
  return Math.floor(unixMs / DAY_MS);
}

function isoDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** The conditions of offers, by the provider's number. */
export const CONDITIONS = [
  'Unknown',
  'New',
  'Used, like new',
  'Used, very good',
  'Used, good',
  'Used, acceptable',
  'Refurbished',
  'Collectible, like new',
  'Collectible, very good',
  'Collectible, good',
  'Collectible, acceptable',
  'Rental',
] as const;

const OFFER_COLUMNS: readonly Column[] = [
  ...SITE_COLUMNS,
  ...columnsFrom({
    offerId: ['integer', 'Id of the offer within the product'],
    sellerId: ['text', 'Id of the seller'],
    condition: ['text', `Condition: ${CONDITIONS.join('; ')}`],
    currency: ['text', 'Currency of the prices, such as USD'],
    price: ['number', 'Last known price without shipping, in the currency of the site'],
    shipping: ['number', 'Shipping, in the currency of the site; 0: free'],
    isLive: ['boolean', 'Whether the site lists the offer at present'],
    isFBA: ['boolean', 'Whether the marketplace fulfils the offer'],
    isPrime: ['boolean', 'Whether the offer is for Prime members'],
    isAmazon: ['boolean', "Whether it is the retailer's own offer"],
    stock: ['integer', 'Last known stock; only with stock'],
    lastSeen: ['time', 'When the provider last saw the offer'],
  }),
];

/** A row for each offer: live ones and past ones. */
export function offersTable<Input extends TableInput>(recordsOf: Records): Table<Input> {
  return {
    needs: ({ offers = 0 }) => (offers > 0 ? null : 'offers, the number of offers to include'),
    columns: () => OFFER_COLUMNS,
    *rows(data) {
      const site = siteOf(data);
      for (const record of recordsOf(data)) yield* offersOf(record, site);
    },
  };
}

/** Yields the offers of a product as rows, in the order of the answer. */
export function* offersOf(
  record: Product,
  { domainId, ...site }: { domainId: Domain; country: string; currency: string },
): Generator<Row> {
  const isDecoded = record.offers?.some(({ history }) => isRecord(history)) ?? false;
  const offers = (isDecoded ? record.offers : decodeProduct(record, domainId).offers) as Offer[] | undefined;
  const live = new Set(record.liveOffersOrder ?? []);
  for (const [i, offer] of (offers ?? []).entries()) {
    const { price, stock } = (offer.history ?? {}) as Record<string, Columns | undefined>;
    yield {
      ...offer,
      ...site,
      asin: record.asin,
      condition: CONDITIONS[Number(offer.condition ?? 0)] ?? CONDITIONS[0],
      price: price?.value?.at(-1) ?? null,
      shipping: price?.shipping?.at(-1) ?? null,
      isLive: live.has(i),
      stock: stock?.value?.at(-1),
      lastSeen: isoTimes(offer, ['lastSeen']).lastSeen ?? null,
    };
  }
}
