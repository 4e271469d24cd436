import type { VNode } from 'preact';
import type { FormValues } from '../../kit/form-request.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { type ChartSeries, TimeChart } from '../../kit/time-chart.tsx';
import { Time } from '../../kit/words.tsx';
import { type ExplorePage, type View, viewOf } from './explore-view.tsx';
import { type RegionsData, RegionsInterest } from './regions.tsx';

/** The data of the call for related queries. */
interface RelatedData {
  results: { keyword: string; top: Query[]; rising: Query[] }[];
}

interface Query {
  query: string;
  formattedValue: string;
}

const PATH = '/explore/trends';

const DAY_SECONDS = 86_400;

const PROPERTIES = [
  ['web', 'Web'],
  ['froogle', 'Shopping'],
  ['youtube', 'Videos'],
  ['images', 'Images'],
  ['news', 'News'],
] as const;

const RANGES = [
  [30, 'Month'],
  [90, '3 months'],
  [365, 'Year'],
] as const;

/** The page that compares the search interest in keywords. */
export const trendsPage: ExplorePage = {
  path: PATH,
  title: 'Trends',
  lead: 'Search interest in up to five keywords, from 0 to 100. 100 is the highest value of all of them in the period.',
  fields: [
    ['keyword', 'Keywords, up to five', { required: true, placeholder: 'kettle, teapot', maxLength: 500 }],
    ['geo', 'Region, such as US', { placeholder: 'Whole world', maxLength: 12 }],
    ['startDate', 'From', { type: 'date' }],
    ['endDate', 'To', { type: 'date' }],
    ['property', 'Search', { options: PROPERTIES, preset: 'web' }],
  ],
  intro: 'Enter one keyword or several, separated by commas.',
  views: (values) => (values.keyword === undefined ? null : viewsOf(values)),
};

function viewsOf({ keyword = '', geo, startDate, endDate, property = 'web' }: FormValues): View[] {
  const keywords = keyword.split(',').map((one) => one.trim());
  const parameters = {
    keyword: keywords.filter((one) => one !== ''),
    ...(geo ? { geo } : {}),
    ...(startDate ? { startDate } : {}),
    ...(endDate ? { endDate } : {}),
    property,
  };
  return [
    viewOf<TimelineData>({
      name: 'interest',
      title: 'Interest over time',
      button: 'Show the interest',
      operation: 'trends.interest-over-time',
      parameters,
      show: (data) =>
        data.timelineData.length === 0 ? (
          <p class="empty">
            Too few people searched for these words. Try other words, a longer period or a larger region.
          </p>
        ) : (
          <TimeChart
            name="Interest over time"
            series={interestSeries(data)}
            ranges={RANGES}
            rows={
              data.timelineData.every(({ timestamp }) => timestamp % DAY_SECONDS === 0) ? 'times' : 'hours'
            }
          />
        ),
    }),
    viewOf<RegionsData>({
      name: 'regions',
      title: 'Interest by region',
      button: 'Show the regions',
      operation: 'trends.interest-by-region',
      parameters,
      show: (data) => <RegionsInterest data={data} />,
    }),
    viewOf<RelatedData>({
      name: 'related',
      title: 'Related queries',
      button: 'Show related queries',
      operation: 'trends.related-queries',
      parameters,
      show: ({ results }) => <Related results={results} values={{ geo, startDate, endDate, property }} />,
    }),
  ];
}

/** @param props.values of the form, besides the keyword. */
function Related({ results, values }: RelatedData & { values: FormValues }): VNode {
  const list = (heading: string, queries: readonly Query[]) => (
    <div>
      <h4>{heading}</h4>
      {queries.length === 0 && <p class="muted">None.</p>}
      <ol>
        {queries.slice(0, 10).map(({ query, formattedValue }) => (
          <li key={query}>
            <a href={addressOf(PATH, { ...values, keyword: query })}>{query}</a>{' '}
            <small>{formattedValue}</small>
          </li>
        ))}
      </ol>
    </div>
  );
  return (
    <>
      {results.map(({ keyword, top, rising }) => (
        <section key={keyword} aria-label={keyword}>
          <h3>{keyword}</h3>
          <div class="grid">
            {list('Most frequent', top)}
            {list('Fastest growing', rising)}
          </div>
        </section>
      ))}
    </>
  );
}

/** The interest in a keyword. */
export interface Value {
  query: string;
  value: number;
  hasData: boolean;
}

/** The data of the call for interest over time. */
interface TimelineData {
  timelineData: { timestamp: number; date: string; values: Value[] }[];
}

/** One series for each keyword. A period without data is a gap. */
export function interestSeries({ timelineData }: TimelineData): ChartSeries[] {
  const keywords = timelineData[0]?.values.map(({ query }) => query) ?? [];
  return keywords.map((name, i) => ({
    name,
    scale: 'index',
    shown: true,
    points: timelineData.map(({ timestamp, values }) => {
      const one = values[i];
      return [timestamp * 1000, one?.hasData ? one.value : null] as const;
    }),
  }));
}

/** The data of the call for the trends of a day. */
interface TodayData {
  geo: string;
  trendDate: string;
  trends: Trend[];
}

interface Trend {
  rank: number;
  query: string;
  formattedTraffic: string;
  increasePercentage: number | null;
  startedAt: string;
}

/** The page of the trending searches of a day. */
export const todayPage: ExplorePage = {
  path: '/explore/today',
  title: 'Trending today',
  lead: 'Searches that became much more frequent on a day of the last week.',
  fields: [
    ['geo', 'Region', { preset: 'US', required: true, maxLength: 12 }],
    ['trendDate', 'Day, or today', { type: 'date' }],
  ],
  intro: 'Choose a region, such as US.',
  views({ geo, trendDate }) {
    if (geo === undefined) return null;
    return [
      viewOf<TodayData>({
        name: 'trends',
        title: 'Trending searches',
        button: 'Show the searches',
        operation: 'trends.daily-trends',
        parameters: { geo, ...(trendDate ? { trendDate } : {}) },
        show: (data) => <Trends data={data} />,
      }),
    ];
  },
};

function Trends({ data: { trends, trendDate, geo } }: { data: TodayData }): VNode {
  const columns: Column<Trend>[] = [
    ['Place', ({ rank }) => rank, 'number'],
    [
      'Search',
      ({ query }) => <a href={addressOf('/explore/trends', { keyword: query, geo })}>{query}</a>,
      'row',
    ],
    ['Searches', ({ formattedTraffic }) => formattedTraffic, 'number'],
    [
      'Growth',
      ({ increasePercentage }) => (increasePercentage === null ? '-' : `${increasePercentage} %`),
      'number',
    ],
    ['Started', ({ startedAt }) => <Time at={startedAt} />],
  ];
  return (
    <>
      <p>{trendDate}</p>
      <Table name="Trending searches" columns={columns} rows={trends} empty="No searches." />
    </>
  );
}
