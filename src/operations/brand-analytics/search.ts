import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { fluctuation, reportDate, reportSiteCode, wordId } from '../answers.ts';
import { defineQueued, oneSource, presentFetched } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { integer, text } from '../params/scalars.ts';
import { columnsOf, type Row } from '../tables/columns.ts';
import { COUNTRY_COLUMN, OF_REPORTS } from './week-columns.ts';

const found = z.object({
  wordId,
  keyword: z.string(),
  rank: z.int().nullable().describe('Rank in the last week in which the term was ranked'),
  reportDate: reportDate.nullable(),
  firstSeen: reportDate,
  lastSeen: reportDate.nullable(),
  fluctuationType: fluctuation,
});

export type FoundTerm = z.output<typeof found>;

const COLUMNS = [
  ...COUNTRY_COLUMN,
  ...columnsOf(
    found,
    ['wordId', 'keyword', 'rank', 'reportDate', 'firstSeen', 'lastSeen', 'fluctuationType'],
    {
      keyword: 'Search term',
      reportDate: 'Saturday of the last week in which the term was ranked',
      firstSeen: 'Saturday of the first loaded week in which the term was ranked',
      lastSeen: 'Saturday of the last loaded week in which the term was ranked',
    },
  ),
];

export const keywordSearch = defineQueued({
  name: 'aba.search',
  summary: 'Finds search terms that contain given words; any part of Chinese and Japanese terms matches.',
  tool: 'aba_search_keywords',
  ...OF_REPORTS,
  routes: [{ method: 'GET', path: '/api/aba/search' }],
  params: request(
    {},
    {
      country: reportSite().describe('Site code'),
      keyword: text({ maxLength: 200 }).meta({
        description: 'Words, in any order; Chinese and Japanese text must appear verbatim',
        // plain-english: allow
        examples: ['desk lamp'],
      }),
      limit: integer({ min: 1, max: 200 }).default(20).describe('Maximum number of terms'),
    },
  ),
  reports: ({ country }) => ({ country }),
  source: (input) => oneSource(`aba/search/${fingerprint(input)}`),
  tables: {
    terms: {
      columns: () => COLUMNS,
      *rows({ items, country }) {
        for (const one of items as Row[]) yield { country, ...one };
      },
    },
  },
  respond: {
    type: 'json',
    records: { path: 'items' },
    answer: z.object({
      country: reportSiteCode,
      keyword: z.string(),
      items: z.array(found),
      count: z.int(),
    }),
    present: presentFetched,
  },
});
