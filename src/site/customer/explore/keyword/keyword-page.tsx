import type { VNode } from 'preact';
import { REPORT_SITE_CODES } from '../../../../operations/brand-analytics/keywords/sites.ts';
import { Choice, Field } from '../../../kit/form.tsx';
import type { FormValues } from '../../../kit/form-request.ts';
import { addressOf } from '../../../kit/paging.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { count, Dash } from '../../../kit/words.tsx';
import type { ExplorePage } from '../explore-page.tsx';
import { type View, viewOf } from '../view.ts';
import {
  type HistoryData,
  historyRows,
  KeywordHistory,
  KeywordSummary,
  type WordData,
} from './keyword-history.tsx';

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
export const countryChoice = (
  <Choice name="country" label="Site" options={REPORT_SITE_CODES.map((code) => [code, code])} preset="us" />
);

/** The page of a search term: terms with its words, and the history and products of one of them. */
export const keywordPage: ExplorePage = {
  path: PATH,
  title: 'Keyword',
  lead: 'Weekly ranks of a search term, and the shares of its three most-clicked products.',
  fields: (
    <>
      {countryChoice}
      <Field name="keyword" label="Words" required placeholder="lamp" maxLength={200} />
    </>
  ),
  fieldNames: ['country', 'keyword'],
  fieldOf: {},
  button: 'Show the price',
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
