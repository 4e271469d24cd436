import type { Database } from '../db/pool.ts';
import { asinOfNumber } from '../keywords/asin-number.ts';
import { changeOf, type Fluctuation, fluctuationOf } from '../keywords/fluctuation.ts';
import type { ReportSite } from '../keywords/sites.ts';
import { REPORT_SITES } from '../keywords/sites.ts';
import type { LabelKind } from './label-kinds.ts';
import { labelNames } from './label-names.ts';

/** One of the three products clicked most after a search. Shares in percent. */
export interface Goods {
  position: number;
  asin: string;
  title: string | null;
  brand: string | null;
  imageUrl: string | null;
  clickShare: number | null;
  conversionShare: number | null;
}

/** A term in a week. */
export interface RankRow {
  wordId: number;
  keyword: string;
  rank: number;
  lastRank: number | null;
  rankChange: number | null;
  rankChangeRate: number | null;
  rank4w: number | null;
  rankChange4w: number | null;
  fluctuationType: Fluctuation | null;
  brands: string[];
  categories: string[];
  clickShareSum: number;
  /** Null when all three are blank. */
  convShareSum: number | null;
  goods: Goods[];
}

const PLACES = [1, 2, 3] as const;

type Place = (typeof PLACES)[number];

/** Hundredths of a percent; -1 is blank. */
export type Shares = Record<`${'click' | 'conv'}${Place}`, number>;

/** A row of a week's table. Products are numbers as asinToNumber gives them, brands and categories ids of labels; 0 is none. */
export interface StoredRow
  extends Shares,
    Record<`asin${Place}` | `brand${Place}` | `category${Place}`, number> {
  rank: number;
  id: number;
  last: number;
  last4: number;
  fluctuation: number;
  term: string;
}

/** What it is read from, but for the term; `r` is the table. One by one: the driver takes long for arrays. */
export const ROW_COLUMNS = [
  'r.rank, r.term_id as id, r.last_rank as last, r.rank_4w as last4, r.fluctuation',
  ...PLACES.map((place) => `r.asin${place}, r.click${place}, r.conv${place}`),
  ...PLACES.map((place) => `r.tags[${place}] as brand${place}, r.tags[${place + 3}] as category${place}`),
].join(', ');

/** Rows as customers see them, with the names and titles they point to. */
export async function describeRows(
  database: Database,
  site: ReportSite,
  stored: readonly StoredRow[],
): Promise<RankRow[]> {
  if (stored.length === 0) return [];
  const [labels, titles] = await Promise.all([
    labelNames(database, stored),
    titlesOf(database, site, stored),
  ]);
  return stored.map((row) => {
    const before = changeOf(row.last, row.rank);
    const fourBefore = changeOf(row.last4, row.rank);
    const names = (kind: LabelKind) => PLACES.flatMap((place) => labels.get(row[`${kind}${place}`]) ?? []);
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
      brands: names('brand'),
      categories: names('category'),
      clickShareSum: sumOf(row, 'click') ?? 0,
      convShareSum: sumOf(row, 'conv'),
      goods: goodsOf(row, titles),
    };
  });
}

/** Hundredths as percent; -1 is blank. */
export function percent(hundredths: number): number | null {
  return hundredths < 0 ? null : hundredths / 100;
}

/** Of the three shares of a row, in percent; null when all are blank. */
export function sumOf(row: Shares, share: 'click' | 'conv'): number | null {
  const known = PLACES.map((place) => row[`${share}${place}`]).filter((hundredths) => hundredths >= 0);
  return known.length === 0 ? null : known.reduce((sum, hundredths) => sum + hundredths, 0) / 100;
}

function goodsOf(row: StoredRow, titles: ReadonlyMap<number, string>): Goods[] {
  return PLACES.flatMap((position) => {
    const number = row[`asin${position}`];
    if (number === 0) return [];
    return {
      position,
      asin: asinOfNumber(number),
      title: titles.get(number) ?? null,
      brand: null,
      imageUrl: null,
      clickShare: percent(row[`click${position}`]),
      conversionShare: percent(row[`conv${position}`]),
    };
  });
}

async function titlesOf(
  database: Database,
  site: ReportSite,
  rows: readonly StoredRow[],
): Promise<Map<number, string>> {
  const asins = new Set<number>();
  for (const row of rows) for (const place of PLACES) asins.add(row[`asin${place}`]);
  asins.delete(0);
  const numbers = [...asins];
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
  return new Map(found.flatMap((result) => result.rows.map(({ asin, title }) => [asin, title])));
}

/** More are looked up by several connections. */
const TITLES_AT_ONCE = 1_000;
