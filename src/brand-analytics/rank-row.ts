import type { z } from 'zod';
import type { goods, rankRow } from '../operations/answers.ts';
import {
  changeOf,
  fluctuationOf,
  REPORT_SITES,
  type ReportSite,
} from '../operations/brand-analytics/keywords.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { asinOfNumber, asinToNumber } from './asin-number.ts';
import { labelNames } from './label-names.ts';

type Goods = z.output<typeof goods>;

const PLACES = [1, 2, 3] as const;

type Place = (typeof PLACES)[number];

/** Hundredths of a percent; -1 is blank. */
export type Shares = Record<`${'click' | 'conv'}${Place}`, number>;

/** Numbers of `asinToNumber`; 0 means none. */
export type Products = Record<`asin${Place}`, number>;

/** The shares of one of the three most-clicked products, in percent; null if blank in the report. */
export type SharesOfProduct = Pick<Goods, 'position' | 'asin' | 'clickShare' | 'conversionShare'>;

/** A row of a week's table. Products are numbers of asinToNumber, brands and categories are ids of labels; 0 means none. */
export interface StoredRow extends Shares, Products, Record<`brand${Place}` | `category${Place}`, number> {
  rank: number;
  id: number;
  last: number;
  last4: number;
  fluctuation: number;
  term: string;
}

/**
 * The columns of a StoredRow, without the term; `r` is the table. Each value has its own column, because the driver
 * parses arrays slowly.
 */
export const ROW_COLUMNS = [
  'r.rank, r.term_id as id, r.last_rank as last, r.rank_4w as last4, r.fluctuation',
  ...PLACES.map((place) => `r.asin${place}, r.click${place}, r.conv${place}`),
  ...PLACES.map((place) => `r.tags[${place}] as brand${place}, r.tags[${place + 3}] as category${place}`),
].join(', ');

/** Returns rows in the form that customers see, with the names and titles of their ids. */
export async function describeRows(
  database: Queryable,
  site: ReportSite,
  stored: readonly StoredRow[],
): Promise<z.output<typeof rankRow>[]> {
  if (stored.length === 0) return [];
  const [labels, titles] = await Promise.all([
    labelNames(database, stored),
    titlesOf(database, site, stored),
  ]);
  return stored.map((row) => {
    const before = changeOf(row.last, row.rank);
    const fourBefore = changeOf(row.last4, row.rank);
    return {
      wordId: row.id,
      keyword: row.term,
      rank: row.rank,
      lastRank: before?.rank ?? null,
      rankChange: before?.change ?? null,
      rankChangeRate: before?.rate ?? null,
      rank4w: fourBefore?.rank ?? null,
      rankChange4w: fourBefore?.change ?? null,
      fluctuationType: fluctuationOf(row.fluctuation),
      brands: namesOf(labels, row.brand1, row.brand2, row.brand3),
      categories: namesOf(labels, row.category1, row.category2, row.category3),
      clickShareSum: clickSumOf(row),
      convShareSum: conversionSumOf(row),
      goods: goodsOf(row, titles),
    };
  });
}

// A page has a thousand rows: code that names each column takes a quarter less time than code that builds the
// names from positions.

function namesOf(labels: ReadonlyMap<number, string>, ...ids: [number, number, number]): string[] {
  const names: string[] = [];
  for (const id of ids) {
    const name = labels.get(id);
    if (name !== undefined) names.push(name);
  }
  return names;
}

/** Returns the shares of the most-clicked products, in their order. */
export function sharesOf(row: Shares & Products): SharesOfProduct[] {
  return PLACES.filter((place) => row[`asin${place}`] > 0).map((position) => ({
    position,
    asin: asinOfNumber(row[`asin${position}`]),
    clickShare: percent(row[`click${position}`]),
    conversionShare: percent(row[`conv${position}`]),
  }));
}

/** Converts hundredths of a percent to percent; -1 is blank. */
export function percent(hundredths: number): number | null {
  return hundredths < 0 ? null : hundredths / 100;
}

/** In percent. */
export function clickSumOf({ click1, click2, click3 }: Shares): number {
  return sumOf(click1, click2, click3) ?? 0;
}

/** In percent; null if all three shares are blank. */
export function conversionSumOf({ conv1, conv2, conv3 }: Shares): number | null {
  return sumOf(conv1, conv2, conv3);
}

function sumOf(...shares: [number, number, number]): number | null {
  let sum = -1;
  for (const share of shares) if (share >= 0) sum = Math.max(sum, 0) + share;
  return percent(sum);
}

function goodsOf(row: StoredRow, titles: ReadonlyMap<number, string>): Goods[] {
  const goods: Goods[] = [];
  if (row.asin1 > 0) goods.push(productOf(titles, 1, row.asin1, row.click1, row.conv1));
  if (row.asin2 > 0) goods.push(productOf(titles, 2, row.asin2, row.click2, row.conv2));
  if (row.asin3 > 0) goods.push(productOf(titles, 3, row.asin3, row.click3, row.conv3));
  return goods;
}

function productOf(
  titles: ReadonlyMap<number, string>,
  position: number,
  asin: number,
  click: number,
  conversion: number,
): Goods {
  return {
    position,
    asin: asinOfNumber(asin),
    title: titles.get(asin) ?? null,
    brand: null,
    imageUrl: null,
    clickShare: percent(click),
    conversionShare: percent(conversion),
  };
}

function titlesOf(
  database: Queryable,
  site: ReportSite,
  rows: readonly StoredRow[],
): Promise<Map<number, string>> {
  const asins = new Set<number>();
  for (const { asin1, asin2, asin3 } of rows) asins.add(asin1).add(asin2).add(asin3);
  asins.delete(0);
  return findTitles(database, site, [...asins]);
}

/** Returns the titles of products by ASIN, without those that are unknown. */
export async function titlesByAsin(
  database: Queryable,
  site: ReportSite,
  asins: Iterable<string>,
): Promise<Record<string, string>> {
  const titles = await findTitles(database, site, Array.from(new Set(asins), asinToNumber));
  return Object.fromEntries(Array.from(titles, ([asin, title]) => [asinOfNumber(asin), title]));
}

async function findTitles(
  database: Queryable,
  site: ReportSite,
  numbers: readonly number[],
): Promise<Map<number, string>> {
  const parts = Array.from({ length: Math.ceil(numbers.length / TITLES_AT_ONCE) }, (_, i) =>
    numbers.slice(i * TITLES_AT_ONCE, (i + 1) * TITLES_AT_ONCE),
  );
  const found = await Promise.all(
    parts.map((part) =>
      database.query<{ asin: number; title: string }>({
        name: `aba-titles-${site}`,
        text: `select asin, title from aba_products_${site} where site = ${REPORT_SITES[site].domain} and asin = any($1::bigint[])`,
        values: [part],
      }),
    ),
  );
  const titles = new Map<number, string>();
  for (const { rows: some } of found) for (const { asin, title } of some) titles.set(asin, title);
  return titles;
}

/** If there are more, several connections look them up. */
const TITLES_AT_ONCE = 1_000;
