import type { VNode } from 'preact';
import { REPORT_SITES } from '../../../operations/brand-analytics/keywords.ts';
import { priceFormat } from '../../../operations/products/provider-fields.ts';
import type { ResearchKeywordData } from '../../../operations/research/keyword.ts';
import { SmallLink } from '../../kit/elements.tsx';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { type ChartSeries, MONTHS, TimeChart, valueText } from '../../kit/time-chart.tsx';
import { count } from '../../kit/words.tsx';
import { againAddress, ProductLink, type ShowContext } from './explore-view.tsx';
import { PERCENT, percent } from './product-parts.tsx';
import { changeText, dayOf, MissingParts, type Snapshot, SnapshotFigures, Sources } from './snapshot.tsx';

const POINTS = { minimumFractionDigits: 2, maximumFractionDigits: 2 } as const;

/** The rank of a term, and how much of its clicks and purchases three products have; weeks without data are gaps, and those before the first loaded one are left out. */
export function keywordSeries({
  history,
  concentration,
}: Pick<ResearchKeywordData, 'history' | 'concentration'>): ChartSeries[] {
  const first = history.findIndex(({ isLoaded }) => isLoaded);
  const loaded = <Week,>(weeks: readonly Week[]) => (first < 0 ? [] : weeks.slice(first));
  const shares = (key: 'clickShare' | 'conversionShare') =>
    loaded(concentration.history).map((one) => [Date.parse(one.week), one[key]] as const);
  return [
    {
      name: 'Rank',
      scale: 'rank',
      points: loaded(history).map(({ week, rank }) => [Date.parse(week), rank] as const),
      shown: true,
    },
    {
      name: 'Clicks on the top three products',
      scale: 'percent',
      format: PERCENT,
      points: shares('clickShare'),
      shown: true,
    },
    {
      name: 'Purchases of the top three products',
      scale: 'percent',
      format: PERCENT,
      points: shares('conversionShare'),
      shown: false,
    },
  ];
}

export function keywordSnapshot(data: ResearchKeywordData): Snapshot {
  const { keyword, country, week, rank, concentration, figures } = data;
  const { clickShare, conversionShare, change12 } = concentration;
  return {
    title: keyword,
    about: `${country}, week that ended on ${week}`,
    tiles: [
      [
        { name: 'Rank', value: rank.current === null ? 'not ranked' : count(rank.current), note: week },
        { name: 'Change in 4 weeks', value: changeText(rank.change4), note: 'positive is better' },
        { name: 'Change in 12 weeks', value: changeText(rank.change12), note: 'positive is better' },
        { name: 'Best rank', value: valueText(rank.best), note: dayOf(figures, 'rank.best') },
        { name: 'Worst rank', value: valueText(rank.worst), note: dayOf(figures, 'rank.worst') },
      ],
      [
        {
          name: 'Clicks on the top three products',
          value: valueText(clickShare, PERCENT),
          note: change12 === null ? null : `${changeText(change12, POINTS)} points in 12 weeks`,
        },
        { name: 'Purchases of the top three products', value: valueText(conversionShare, PERCENT) },
      ],
    ],
    chart: {
      name: `${keyword} (${country})`,
      series: keywordSeries(data),
      ...MONTHS,
      rows: 'times',
    },
    figures,
  };
}

/** A search term with its ranks, products, brands and seasons. */
export function KeywordView({ data, context }: { data: ResearchKeywordData; context: ShowContext }): VNode {
  const { keyword, country, rank, trends, figures, errors } = data;
  return (
    <>
      {rank.best === null && (
        <p class="empty">
          No loaded weekly report of the site {country} has the term {keyword}. See below for terms that
          contain these words.
        </p>
      )}
      <MissingParts errors={errors} again={againAddress(context, 'term')} />
      {rank.best !== null && <Reported data={data} />}
      {trends && (
        <>
          <h3>Search interest on the web</h3>
          <Interest keyword={keyword} trends={trends} />
        </>
      )}
      <Sources figures={figures} />
    </>
  );
}

/** What the reports say about a term. */
function Reported({ data }: { data: ResearchKeywordData }): VNode {
  const { keyword, brands, seasonality } = data;
  return (
    <>
      <div class="row">
        <h3>{keyword}</h3>
        <SmallLink to={trackAddress(data)}>Track this rank</SmallLink>
      </div>
      <SnapshotFigures snapshot={keywordSnapshot(data)} />
      <Products data={data} />
      {brands.length > 0 && (
        <>
          <h3>Brands of these products</h3>
          <Table name="Brands" columns={BRANDS} rows={brands} />
        </>
      )}
      <Moves data={data} />
      {seasonality && <Seasons months={seasonality.months} />}
    </>
  );
}

type SearchTrend = NonNullable<ResearchKeywordData['trends']>;

function Interest({ keyword, trends: { points } }: { keyword: string; trends: SearchTrend }): VNode {
  if (points.every(({ value }) => value === null))
    return <p class="empty">Too few people searched for this term to show how many.</p>;
  const series: ChartSeries = {
    name: 'Interest',
    scale: 'index',
    points: points.map(({ date, value }) => [Date.parse(date), value] as const),
    shown: true,
  };
  return (
    <TimeChart name={`Search interest in ${keyword}`} series={[series]} ranges={MONTHS.ranges} rows="times" />
  );
}

/** The form of a new tracker of the rank, with a bound of half as far again. */
function trackAddress({ keyword, country, rank }: ResearchKeywordData): string {
  return addressOf('/account/trackers/new', {
    name: `Rank of ${keyword}`,
    subject: 'keywords',
    domain: String(REPORT_SITES[country].domain),
    items: keyword,
    type1: 'keyword_rank_above',
    value1: rank.current === null ? '' : String(Math.ceil(rank.current * 1.5)),
  });
}

type Clicked = ResearchKeywordData['products'][number];

const BRANDS: Column<ResearchKeywordData['brands'][number]>[] = [
  ['Brand', ({ brand }) => brand ?? 'unknown', 'row'],
  ['Clicks', ({ clickShare }) => percent(clickShare), 'number'],
];

function Products({ data }: { data: ResearchKeywordData }): VNode {
  const { domain } = REPORT_SITES[data.country];
  const columns: Column<Clicked>[] = [
    ['Position', ({ position }) => position, 'number'],
    [
      'Product',
      ({ asin, title, brand }) => (
        <>
          <ProductLink domain={domain} asin={asin} title={title} />
          {brand && <small class="under">{brand}</small>}
        </>
      ),
      'row',
    ],
    ['Clicks', ({ clickShare }) => percent(clickShare), 'number'],
    ['Purchases', ({ conversionShare }) => percent(conversionShare), 'number'],
    ['Price', ({ price }) => valueText(price, priceFormat(domain)), 'number'],
    ['Sales rank', ({ rank }) => valueText(rank), 'number'],
    ['Rating', ({ rating }) => valueText(rating, { minimumFractionDigits: 1 }), 'number'],
    ['Reviews', ({ reviewCount }) => valueText(reviewCount), 'number'],
    [
      'Sold in a month',
      ({ monthlySold }) => (monthlySold === null ? '-' : `${count(monthlySold)}+`),
      'number',
    ],
  ];
  return (
    <>
      <h3>Most-clicked products</h3>
      <Table
        name="Most-clicked products"
        columns={columns}
        rows={data.products}
        empty="The term is not ranked in the latest week."
      />
      {data.products.length > 1 && (
        <p>
          <a
            href={addressOf('/explore/compare', {
              domain: String(domain),
              asins: data.products.map(({ asin }) => asin).join(' '),
            })}
          >
            Compare these products
          </a>
        </p>
      )}
    </>
  );
}

const MOST_MOVES = 10;

/** The products that came among the three and left them, the newest first. */
function Moves({ data }: { data: ResearchKeywordData }): VNode {
  const { domain } = REPORT_SITES[data.country];
  const titles = new Map(data.products.map(({ asin, title }) => [asin, title]));
  const list = (heading: string, moves: ResearchKeywordData['entrants']) => (
    <div>
      <h3>{heading}</h3>
      {moves.length === 0 && <p class="muted">None.</p>}
      <ul class="plain">
        {moves.slice(0, MOST_MOVES).map(({ asin, week }) => (
          <li key={`${week}${asin}`}>
            {week} <ProductLink domain={domain} asin={asin} title={titles.get(asin) ?? null} />
          </li>
        ))}
      </ul>
      {moves.length > MOST_MOVES && (
        <p class="hint">
          These are the newest {MOST_MOVES} of {count(moves.length)}.
        </p>
      )}
    </div>
  );
  return (
    <div class="grid">
      {list('New in the top three', data.entrants)}
      {list('Left the top three', data.leavers)}
    </div>
  );
}

type Month = NonNullable<ResearchKeywordData['seasonality']>['months'][number];

const MONTH_NAME = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' });

const MONTH_COLUMNS: Column<Month>[] = [
  ['Month', ({ month }) => MONTH_NAME.format(Date.UTC(2024, month - 1, 1)), 'row'],
  ['Weeks', ({ weeks }) => weeks, 'number'],
  ['Median rank', ({ rank }) => valueText(rank), 'number'],
  ['Index', ({ index }) => valueText(index, POINTS), 'number'],
];

function Seasons({ months }: { months: readonly Month[] }): VNode {
  return (
    <details>
      <summary>Seasons: an index above 1 is a better rank than usual</summary>
      <Table name="Seasons" columns={MONTH_COLUMNS} rows={months} />
    </details>
  );
}
