import type { VNode } from 'preact';
import { type Column, Table } from '../../../kit/table.tsx';
import { count, Dash } from '../../../kit/words.tsx';

/** The data of the look-up of search terms by ASIN. */
export interface KeywordsData {
  items: { asin: string; count: number; truncated: boolean; keywords: Keyword[] }[];
}

interface Keyword {
  wordId: number;
  keyword: string;
  country: string;
  reportDate: string;
  rank: number;
  position: number;
  clickShare: number | null;
  conversionShare: number | null;
}

const COLUMNS: Column<Keyword>[] = [
  ['Search term', ({ keyword }) => keyword, 'row'],
  ['Week', ({ reportDate }) => reportDate],
  ['Rank', ({ rank }) => count(rank), 'number'],
  ['Position', ({ position }) => position, 'number'],
  ['Clicks', ({ clickShare }) => percent(clickShare), 'number'],
  ['Purchases', ({ conversionShare }) => percent(conversionShare), 'number'],
];

/** The search terms for which the product is among the three most clicked. */
export function KeywordsTable({ data }: { data: KeywordsData }): VNode {
  const empty = 'In the latest week, the product is not among the three most clicked of any search term.';
  return <Table name="Search terms" columns={COLUMNS} rows={keywordRows(data)} empty={empty} />;
}

export function keywordRows({ items }: KeywordsData): Keyword[] {
  return items.flatMap(({ keywords }) => keywords);
}

export function percent(share: number | null): VNode | string {
  return share === null ? <Dash /> : `${share.toFixed(2)}\u00a0%`;
}
