import type { VNode } from 'preact';
import { REPORT_SITE_CODES } from '../../../operations/brand-analytics/keywords.ts';
import type { ResearchKeywordData } from '../../../operations/research/keyword.ts';
import type { FieldRow } from '../../kit/form.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { type Column, Table } from '../../kit/table.tsx';
import { count, Dash } from '../../kit/words.tsx';
import { type ExplorePage, keywordAddress, type View, viewOf } from './explore-view.tsx';
import { KeywordView, keywordSnapshot } from './keyword-view.tsx';

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

/** The field that chooses a site with brand analytics. */
export const COUNTRY_FIELD: FieldRow = [
  'country',
  'Site',
  { options: REPORT_SITE_CODES.map((code) => [code, code]), preset: 'us' },
];

const TRENDS = [
  ['0', 'Leave out'],
  ['1', 'Last 12 months'],
] as const;

/** The page of a search term, and of terms with its words. */
export const keywordPage: ExplorePage = {
  path: '/explore/keyword',
  title: 'Keyword',
  lead: 'How a search term ranks, which products get most of its clicks, and in which months it ranks best.',
  fields: [
    COUNTRY_FIELD,
    ['keyword', 'Search term', { required: true, placeholder: 'desk lamp', maxLength: 200 }],
    ['trends', 'Search trend', { options: TRENDS, preset: '0' }],
  ],
  intro: 'Enter a search term, such as desk lamp. The page also lists terms that contain these words.',
  views: (values) => (values.keyword === undefined ? null : viewsOf(values, values.keyword)),
};

/** The weeks of the histories: two years. */
const WEEKS = 104;

function viewsOf({ country = 'us', trends }: FormValues, keyword: string): View[] {
  return [
    viewOf<ResearchKeywordData>({
      name: 'term',
      title: 'Search term',
      button: 'Show the search term',
      operation: 'research.keyword',
      table: 'history',
      parameters: { country, keyword, weeks: WEEKS, ...(trends === '1' ? { trends: true } : {}) },
      show: (data, context) => <KeywordView data={data} context={context} />,
      snapshot: keywordSnapshot,
    }),
    viewOf<TermsData>({
      name: 'terms',
      title: 'Search terms with these words',
      button: 'Show terms with these words',
      operation: 'aba.search',
      parameters: { country, keyword, limit: 100 },
      show: (data) => <Terms data={data} keyword={keyword} />,
    }),
  ];
}

function Terms({ data: { items, country }, keyword }: { data: TermsData; keyword: string }): VNode {
  const columns: Column<Term>[] = [
    ['Search term', (term) => <a href={keywordAddress(country, term.keyword)}>{term.keyword}</a>, 'row'],
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
            <a href={keywordAddress(code, keyword)}>{code}</a>
          </span>
        ))}
      </p>
    </>
  );
}
