import type { VNode } from 'preact';
import { Choice, Field } from '../../../kit/form.tsx';
import type { FormValues } from '../../../kit/form-request.ts';
import { addressOf } from '../../../kit/paging.tsx';
import { TimeChart } from '../../../kit/time-chart.tsx';
import type { ExplorePage } from '../explore-page.tsx';
import { type View, viewOf } from '../view.ts';
import { interestSeries, type TimelineData } from './interest.ts';
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
  lead: 'Search interest in up to five keywords, from 0 to 100, where 100 is the highest of all.',
  fields: (
    <>
      <Field
        name="keyword"
        label="Keywords, up to five"
        required
        placeholder="kettle, teapot"
        maxLength={500}
      />
      <Field name="geo" label="Region, such as US" placeholder="Whole world" maxLength={12} />
      <Field name="startDate" label="From" type="date" />
      <Field name="endDate" label="To" type="date" />
      <Choice name="property" label="Search" options={PROPERTIES} preset="web" />
    </>
  ),
  fieldNames: ['keyword', 'geo', 'startDate', 'endDate', 'property'],
  fieldOf: {},
  button: 'Show the price',
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
          <p class="empty">Too few people searched for these words.</p>
        ) : (
          <TimeChart name="Interest over time" series={interestSeries(data)} ranges={RANGES} rows="times" />
        ),
      rows: ({ timelineData }) =>
        timelineData.map(({ date, values }) => ({
          date,
          ...Object.fromEntries(values.map(({ query, value }) => [query, value])),
        })),
    }),
    viewOf<RegionsData>({
      name: 'regions',
      title: 'Interest by region',
      button: 'Show the regions',
      operation: 'trends.interest-by-region',
      parameters,
      show: (data) => <RegionsInterest data={data} />,
      rows: ({ regions }) =>
        regions.map(({ geoCode, geoName, values }) => ({
          ...{ geoCode, geoName },
          ...Object.fromEntries(values.map(({ query, value }) => [query, value])),
        })),
    }),
    viewOf<RelatedData>({
      name: 'related',
      title: 'Related queries',
      button: 'Show related queries',
      operation: 'trends.related-queries',
      parameters,
      show: ({ results }) => <Related results={results} geo={geo} />,
      rows: ({ results }) =>
        results.flatMap(({ keyword: of, top, rising }) => [
          ...top.map(({ query, formattedValue }) => ({
            keyword: of,
            list: 'top',
            query,
            value: formattedValue,
          })),
          ...rising.map(({ query, formattedValue }) => ({
            ...{ keyword: of, list: 'rising', query, value: formattedValue },
          })),
        ]),
    }),
  ];
}

function Related({ results, geo }: RelatedData & { geo: string | undefined }): VNode {
  const list = (heading: string, queries: readonly Query[]) => (
    <div>
      <h4>{heading}</h4>
      {queries.length === 0 && <p class="muted">None.</p>}
      <ol>
        {queries.slice(0, 10).map(({ query, formattedValue }) => (
          <li key={query}>
            <a href={addressOf(PATH, { keyword: query, geo })}>{query}</a> <small>{formattedValue}</small>
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
