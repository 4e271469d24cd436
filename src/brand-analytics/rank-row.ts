import type { Database } from '../db/pool.ts';
import { asinOfNumber } from '../keywords/asin-number.ts';
import { changeOf, type Fluctuation, fluctuationOf } from '../keywords/fluctuation.ts';
import type { ReportSite } from '../keywords/sites.ts';
import { REPORT_SITES } from '../keywords/sites.ts';

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

/** The columns of a week's table a row is made of; `r` is the table, `t` its terms. */
export const ROW_COLUMNS = `r.rank, r.term_id as id, t.term, r.last_rank as last, r.rank_4w as last4, r.fluctuation,
  r.tags[1:6] as labels, array[r.asin1, r.asin2, r.asin3]::text[] as asins,
  array[r.click1, r.click2, r.click3] as clicks, array[r.conv1, r.conv2, r.conv3] as conversions`;

/** Three brands and three categories are the first labels of a row. */
const BRANDS = 3;

export interface StoredRow {
  rank: number;
  id: number;
  term: string;
  last: number;
  last4: number;
  fluctuation: number;
  labels: number[];
  asins: string[];
  clicks: number[];
  conversions: number[];
}

/** Rows as customers see them, with the names and titles they point to. */
export async function describeRows(
  database: Database,
  site: ReportSite,
  stored: readonly StoredRow[],
): Promise<RankRow[]> {
  if (stored.length === 0) return [];
  const [labels, titles] = await Promise.all([labelsOf(database, stored), titlesOf(database, site, stored)]);
  return stored.map((row) => {
    const before = changeOf(row.last, row.rank);
    const fourBefore = changeOf(row.last4, row.rank);
    const names = (ids: readonly number[]) => ids.flatMap((id) => labels.get(id) ?? []);
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
      brands: names(row.labels.slice(0, BRANDS)),
      categories: names(row.labels.slice(BRANDS)),
      clickShareSum: sumOf(row.clicks) ?? 0,
      convShareSum: sumOf(row.conversions),
      goods: goodsOf(row, titles),
    };
  });
}

/** Hundredths as percent; -1 is blank. */
export function percent(hundredths: number): number | null {
  return hundredths < 0 ? null : hundredths / 100;
}

/** Of shares in hundredths, in percent; null when all are blank. */
export function sumOf(shares: readonly number[]): number | null {
  const known = shares.filter((share) => share >= 0);
  return known.length === 0 ? null : known.reduce((sum, share) => sum + share, 0) / 100;
}

function goodsOf({ asins, clicks, conversions }: StoredRow, titles: ReadonlyMap<string, string>): Goods[] {
  return asins.flatMap((number, place) => {
    if (number === '0') return [];
    return {
      position: place + 1,
      asin: asinOfNumber(Number(number)),
      title: titles.get(number) ?? null,
      brand: null,
      imageUrl: null,
      clickShare: percent(clicks[place] ?? -1),
      conversionShare: percent(conversions[place] ?? -1),
    };
  });
}

async function labelsOf(database: Database, rows: readonly StoredRow[]): Promise<Map<number, string>> {
  const ids = [...new Set(rows.flatMap(({ labels }) => labels))].filter((id) => id > 0);
  if (ids.length === 0) return new Map();
  const { rows: found } = await database.query<{ id: number; name: string }>({
    name: 'aba-labels',
    text: 'select id, name from aba_labels where id = any($1::integer[])',
    values: [ids],
  });
  return new Map(found.map(({ id, name }) => [id, name]));
}

async function titlesOf(
  database: Database,
  site: ReportSite,
  rows: readonly StoredRow[],
): Promise<Map<string, string>> {
  const asins = [...new Set(rows.flatMap((row) => row.asins))].filter((asin) => asin !== '0');
  const { rows: found } = await database.query<{ asin: string; title: string }>({
    name: `aba-titles-${site}`,
    text: `select asin::text, title from aba_products_${site} where site = ${REPORT_SITES[site].domain} and asin = any($1::bigint[])`,
    values: [asins],
  });
  return new Map(found.map(({ asin, title }) => [asin, title]));
}
