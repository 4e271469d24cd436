import type { VNode } from 'preact';
import {
  REPORT_SITE_CODES,
  REPORT_SITES,
  type ReportSite,
} from '../../../operations/brand-analytics/keywords.ts';
import { Facts } from '../../kit/elements.tsx';
import type { FieldRow } from '../../kit/form.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { type ChartSeries, TimeChart } from '../../kit/time-chart.tsx';
import { count, Dash } from '../../kit/words.tsx';
import { type ExplorePage, ProductLink, type View, viewOf } from './explore-view.tsx';
import { percent } from './product-parts.tsx';

/** The data of a search for terms. */
interface TermsData {
  country: string;
  items: Term[];
}

interface Term {
  wordId: number;
  keyword: string;
  rank: number | null;
  reportDate: string | null;
  firstSeen: string;
}

const PATH = '/explore/keyword';

/** The field that chooses a site with brand analytics. */
export const COUNTRY_FIELD: FieldRow = [
  'country',
  'Site',
  { options: REPORT_SITE_CODES.map((code) => [code, code]), preset: 'us' },
];

/** The page of a search term: terms with its words, and the history and products of one of them. */
export const keywordPage: ExplorePage = {
  path: PATH,
  title: 'Keyword',
  lead: 'Weekly ranks of a search term, and the shares of its three most-clicked products.',
  fields: [COUNTRY_FIELD, ['keyword', 'Words', { required: true, placeholder: 'lamp', maxLength: 200 }]],
  intro: 'Enter words of a search term, such as lamp.',
  views(values) {
    const { keyword, word } = values;
    if (word !== undefined) return [historyView(word), summaryView(word), ...termsViews(values)];
    return keyword === undefined ? null : termsViews(values);
  },
};

/** The address of the page of a term. */
export function wordAddress(country: string, { wordId, keyword }: Pick<Term, 'wordId' | 'keyword'>): string {
  return addressOf(PATH, { country, keyword, word: String(wordId) });
}

function historyView(word: string): View {
  return viewOf<HistoryData>({
    name: 'history',
    title: 'History of 104 weeks',
    button: 'Show the history',
    operation: 'aba.wordhistory',
    parameters: { wordId: word, limit: 104 },
    show: (data) => <KeywordHistory data={data} />,
    rows: historyRows,
  });
}

function summaryView(word: string): View {
  return viewOf<WordData>({
    name: 'summary',
    title: 'Most-clicked products',
    button: 'Show the products',
    operation: 'aba.word',
    parameters: { wordId: word },
    show: (data) => <KeywordSummary data={data} />,
    rows: ({ goods }) => goods.map((one) => ({ ...one })),
  });
}

function termsViews({ country = 'us', keyword, word }: FormValues): View[] {
  if (keyword === undefined) return [];
  return [
    viewOf<TermsData>({
      name: 'terms',
      title: word === undefined ? 'Search terms' : 'Related search terms',
      button: word === undefined ? 'Search terms' : 'Show terms with these words',
      operation: 'aba.search',
      parameters: { country, keyword, limit: 100 },
      show: (data) => <Terms data={data} keyword={keyword} />,
      rows: ({ items }) => items.map((one) => ({ ...one })),
    }),
  ];
}

function Terms({ data: { items, country }, keyword }: { data: TermsData; keyword: string }): VNode {
  const columns: Column<Term>[] = [
    ['Search term', (term) => <a href={wordAddress(country, term)}>{term.keyword}</a>, 'row'],
    ['Last rank', ({ rank }) => (rank === null ? <Dash /> : count(rank)), 'number'],
    ['In the week', ({ reportDate }) => reportDate ?? <Dash />],
    ['First seen', ({ firstSeen }) => firstSeen],
  ];
  const others = REPORT_SITE_CODES.filter((code) => code !== country);
  return (
    <>
      <Table name="Search terms" columns={columns} rows={items} empty="No term has these words." />
      <p>
        The same words in other sites:{' '}
        {others.map((code, i) => (
          <span key={code}>
            {i > 0 && ', '}
            <a href={addressOf(PATH, { country: code, keyword })}>{code}</a>
          </span>
        ))}
      </p>
    </>
  );
}

/** The data of the history of a search term. */
interface HistoryData {
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
interface WordData {
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
function KeywordHistory({ data: { history, keyword, titles } }: { data: HistoryData }): VNode {
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
      name: 'Clicks, three products',
      scale: 'percent',
      format: PERCENT,
      points: pointsOf('clickShareSum'),
      shown: false,
    },
    {
      name: 'Purchases, three products',
      scale: 'percent',
      format: PERCENT,
      points: pointsOf('convShareSum'),
      shown: false,
    },
  ];
}

/** The shares of the three products of the latest week, with gaps in the weeks in which others were clicked more. */
function shareSeries(history: readonly Week[], titles: Readonly<Record<string, string>>): ChartSeries[] {
  const latest = history.findLast(({ goods }) => goods.length > 0);
  const series = (asin: string, key: 'clickShare' | 'conversionShare', name: string): ChartSeries => ({
    name: `${name}, ${shortTitle(titles[asin] ?? asin)}`,
    scale: 'percent',
    format: PERCENT,
    shown: key === 'clickShare',
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

function historyRows({ history, keyword, country, titles }: HistoryData): Record<string, unknown>[] {
  return history.map(({ goods, ...week }) => ({
    keyword,
    country,
    ...week,
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
function KeywordSummary({ data }: { data: WordData }): VNode {
  const { word, current, goods, goodsReportDate } = data;
  const { domain } = REPORT_SITES[word.country];
  const columns: Column<Good>[] = [
    ['Position', ({ position }) => position, 'number'],
    ['Product', ({ asin, title }) => <ProductLink domain={domain} asin={asin} title={title} />, 'row'],
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
