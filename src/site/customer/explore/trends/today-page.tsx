import type { VNode } from 'preact';
import { Field } from '../../../kit/form.tsx';
import { addressOf } from '../../../kit/paging.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { Time } from '../../../kit/words.tsx';
import type { ExplorePage } from '../explore-page.tsx';
import { viewOf } from '../view.ts';

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
  fields: (
    <>
      <Field name="geo" label="Region" preset="US" required maxLength={12} />
      <Field name="trendDate" label="Day, or today" type="date" />
    </>
  ),
  fieldNames: ['geo', 'trendDate'],
  fieldOf: {},
  button: 'Show the price',
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
        rows: ({ trends }) =>
          trends.map(({ rank, query, formattedTraffic, increasePercentage, startedAt }) => ({
            ...{ rank, query, searches: formattedTraffic, increasePercentage, startedAt },
          })),
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
