import { fingerprint } from '../../fingerprint.ts';
import type { ReportSite } from '../../keywords/sites.ts';
import { defineQueued, oneSource } from '../define.ts';
import { reportSite } from '../params/report-site.ts';
import { request } from '../params/request.ts';
import { integer, text } from '../params/scalars.ts';

export interface KeywordSearchInput {
  country: ReportSite;
  keyword: string;
  limit: number;
}

export const keywordSearch = defineQueued<'aba.search', KeywordSearchInput, Record<string, unknown>>({
  name: 'aba.search',
  summary: 'Finds search terms by their words; Chinese and Japanese ones by any part.',
  tool: 'aba_search_keywords',
  routes: [{ method: 'GET', path: '/api/aba/search' }],
  params: request(
    {},
    {
      country: reportSite().describe('Site code'),
      keyword: text({ maxLength: 200 }).describe(
        'Words in any order; Chinese and Japanese text as it stands',
      ),
      limit: integer({ min: 1, max: 200 }).default(20).describe('Terms'),
    },
  ),
  price: { text: '1', quote: () => 1 },
  pools: ['keywords'],
  queue: () => 'keywords',
  reports: ({ country }) => ({ country }),
  source: (input) => oneSource(`aba/search/${fingerprint(input)}`),
  respond: { type: 'json', present: (found) => ({ data: found.get('') ?? {} }) },
});
