import type { VNode } from 'preact';
import { FLUCTUATIONS } from '../../../operations/brand-analytics/keywords.ts';
import type { FieldRow } from '../../kit/form.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { count, Dash } from '../../kit/words.tsx';
import { type ExplorePage, keywordAddress, type ShowContext, viewOf } from './explore-view.tsx';
import { COUNTRY_FIELD } from './keyword-page.tsx';
import { Pager, pageIn } from './product-lists.tsx';
import { percent } from './product-parts.tsx';

/** The data of the rank list. */
interface RanksData {
  country: string;
  reportDate: string;
  rows: RankRow[];
}

interface RankRow {
  wordId: number;
  keyword: string;
  rank: number;
  rankChange: number | null;
  brands: string[];
  clickShareSum: number;
  convShareSum: number | null;
}

/** The filters of the list, which have the names of the parameters. */
const FILTERS: readonly FieldRow[] = [
  ['reportDate', 'Week ending on Saturday', { type: 'date' }],
  ['keyword', 'Words', { maxLength: 200 }],
  ['rankMin', 'Rank from', { type: 'number', min: 1 }],
  ['rankMax', 'Rank to', { type: 'number', min: 1 }],
  [
    'fluctuationType',
    'Change',
    { options: [['', 'Any'], ...FLUCTUATIONS.map((one) => [one, one] as const)] },
  ],
  ['brand', 'Brand', { maxLength: 200 }],
  ['category', 'Category', { maxLength: 200 }],
  ['clickSumMin', 'Clicks from, %', { type: 'number', min: 0, max: 100 }],
  ['convSumMin', 'Purchases from, %', { type: 'number', min: 0, max: 100 }],
];

/** The page of the weekly rank list. */
export const ranksPage: ExplorePage = {
  path: '/explore/ranks',
  title: 'Weekly ranks',
  lead: 'The search terms of a week by rank. Leave the week empty for the latest one.',
  fields: [COUNTRY_FIELD, ...FILTERS],
  intro: 'Choose a site and, if you like, filters.',
  views(values) {
    const { country } = values;
    if (country === undefined) return null;
    const filters = FILTERS.flatMap(([name]) => (values[name] ? [[name, values[name]] as const] : []));
    return [
      viewOf<RanksData>({
        name: 'ranks',
        title: 'Ranks',
        button: 'Show the ranks',
        operation: 'aba.rank',
        parameters: { country, ...Object.fromEntries(filters), limit: 1000 },
        show: (data, context) => <Ranks data={data} context={context} />,
      }),
    ];
  },
};

function Ranks({ data, context }: { data: RanksData; context: ShowContext }): VNode {
  const { country, reportDate, rows } = data;
  const page = pageIn(rows, context.query);
  const columns: Column<RankRow>[] = [
    ['Rank', ({ rank }) => count(rank), 'number'],
    ['Search term', (row) => <a href={keywordAddress(country, row.keyword)}>{row.keyword}</a>, 'row'],
    ['Change', ({ rankChange }) => changeText(rankChange), 'number'],
    ['Brands', ({ brands }) => brands.join(', ')],
    ['Clicks', ({ clickShareSum }) => percent(clickShareSum), 'number'],
    ['Purchases', ({ convShareSum }) => percent(convShareSum), 'number'],
  ];
  return (
    <>
      <p>Week that ended on {reportDate}</p>
      <Table name="Ranks" columns={columns} rows={page.rows} empty="No term matches the filters." />
      <Pager page={page} context={context} id="ranks" />
    </>
  );
}

function changeText(change: number | null): VNode | string {
  if (change === null) return <Dash />;
  return change > 0 ? `+${count(change)}` : count(change);
}
