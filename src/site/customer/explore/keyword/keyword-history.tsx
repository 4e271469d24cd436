import type { VNode } from 'preact';
import { REPORT_SITES, type ReportSite } from '../../../../operations/brand-analytics/keywords/sites.ts';
import { Facts } from '../../../kit/facts.tsx';
import { addressOf } from '../../../kit/paging.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { type ChartSeries, TimeChart } from '../../../kit/time-chart.tsx';
import { count } from '../../../kit/words.tsx';
import { percent } from '../product/product-keywords.tsx';

/** The data of the history of a search term. */
export interface HistoryData {
  keyword: string;
  country: string;
  history: Week[];
  /** By ASIN. */
  titles: Readonly<Record<string, string>>;
}

interface Week {
  reportDate: string;
  rank: number | null;
  clickShareSum: number | null;
  convShareSum: number | null;
  goods: { asin: string; clickShare: number | null; conversionShare: number | null }[];
}

/** The data of the call for a search term. */
export interface WordData {
  word: {
    keyword: string;
    country: ReportSite;
    firstSeen: string;
    weeksSeen: number;
    bestRank: number | null;
    bestRankDate: string | null;
  };
  current: { rank: number } | null;
  goods: Good[];
  goodsReportDate: string | null;
}

interface Good {
  position: number;
  asin: string;
  title: string | null;
  brand: string | null;
  clickShare: number | null;
  conversionShare: number | null;
}

const RANGES = [
  [91, '3 months'],
  [182, '6 months'],
  [364, 'Year'],
] as const;

/** The reports have shares with two decimals. */
const PERCENT = { minimumFractionDigits: 2, maximumFractionDigits: 2 } as const;

/** The ranks of a search term, and the shares of its three products. */
export function KeywordHistory({ data: { history, keyword, titles } }: { data: HistoryData }): VNode {
  if (history.length === 0) return <p class="empty">No week with this term is loaded.</p>;
  return (
    <>
      <h3>{keyword}</h3>
      <TimeChart
        name="Rank and shares"
        series={keywordSeries(history, titles)}
        ranges={RANGES}
        rows="times"
      />
    </>
  );
}

export function keywordSeries(
  history: readonly Week[],
  titles: Readonly<Record<string, string>>,
): ChartSeries[] {
  const pointsOf = (key: 'rank' | 'clickShareSum' | 'convShareSum') =>
    history.map((week) => [Date.parse(week.reportDate), week[key]] as const);
  return [
    { name: 'Rank', scale: 'rank', points: pointsOf('rank'), shown: true },
    ...shareSeries(history, titles),
    {
      ...{ name: 'Clicks, three products', scale: 'percent', format: PERCENT },
      points: pointsOf('clickShareSum'),
      shown: false,
    },
    {
      ...{ name: 'Purchases, three products', scale: 'percent', format: PERCENT },
      points: pointsOf('convShareSum'),
      shown: false,
    },
  ];
}

/** The shares of the three products of the latest week, with gaps in the weeks in which others were clicked more. */
function shareSeries(history: readonly Week[], titles: Readonly<Record<string, string>>): ChartSeries[] {
  const latest = history.findLast(({ goods }) => goods.length > 0);
  const series = (asin: string, key: 'clickShare' | 'conversionShare', name: string): ChartSeries => ({
    ...{
      name: `${name}, ${shortTitle(titles[asin] ?? asin)}`,
      scale: 'percent',
      format: PERCENT,
      shown: key === 'clickShare',
    },
    points: history.map(({ reportDate, goods }) => {
      const one = goods.find((product) => product.asin === asin);
      return [Date.parse(reportDate), one?.[key] ?? null] as const;
    }),
  });
  const asins = latest?.goods.map(({ asin }) => asin) ?? [];
  return [
    ...asins.map((asin) => series(asin, 'clickShare', 'Clicks')),
    ...asins.map((asin) => series(asin, 'conversionShare', 'Purchases')),
  ];
}

/** Longer titles are cut at a word. */
const MOST_CHARACTERS = 40;

function shortTitle(title: string): string {
  if (title.length <= MOST_CHARACTERS) return title;
  return `${title.slice(0, MOST_CHARACTERS + 1).replace(/\s+\S*$/, '')}…`;
}

export function historyRows({ history, keyword, country, titles }: HistoryData): Record<string, unknown>[] {
  return history.map(({ goods, ...week }) => ({
    ...{ keyword, country, ...week },
    ...Object.fromEntries(
      goods.flatMap(({ asin, clickShare, conversionShare }, i) => [
        [`product${i + 1}`, asin],
        [`title${i + 1}`, titles[asin] ?? null],
        [`clickShare${i + 1}`, clickShare],
        [`conversionShare${i + 1}`, conversionShare],
      ]),
    ),
  }));
}

/** The term in its latest week, with its three most-clicked products. */
export function KeywordSummary({ data }: { data: WordData }): VNode {
  const { word, current, goods, goodsReportDate } = data;
  const domain = String(REPORT_SITES[word.country].domain);
  const columns: Column<Good>[] = [
    ['Position', ({ position }) => position, 'number'],
    [
      'Product',
      ({ asin, title }) => <a href={addressOf('/explore/product', { domain, asin })}>{title ?? asin}</a>,
      'row',
    ],
    ['Brand', ({ brand }) => brand ?? '-'],
    ['Clicks', ({ clickShare }) => percent(clickShare), 'number'],
    ['Purchases', ({ conversionShare }) => percent(conversionShare), 'number'],
  ];
  return (
    <>
      <Facts
        facts={[
          ['Rank now', current ? count(current.rank) : 'not ranked in the latest week'],
          word.bestRank !== null && ['Best rank', `${count(word.bestRank)}, ${word.bestRankDate ?? ''}`],
          ['First seen', word.firstSeen],
          ['Weeks ranked', count(word.weeksSeen)],
          goodsReportDate !== null && ['Products of the week', goodsReportDate],
        ]}
      />
      <Table
        name="Most-clicked products"
        columns={columns}
        rows={goods}
        empty="The report has no products."
      />
    </>
  );
}
