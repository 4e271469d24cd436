import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { fluctuation, reportDate, reportSiteCode, wordId } from '../answers.ts';
import { defineQueued, oneSource } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { integer, text } from '../params/scalars.ts';
import type { ReportSite } from './keywords.ts';

interface KeywordSearchInput {
  country: ReportSite;
  keyword: string;
  limit: number;
}

export const keywordSearch = defineQueued<'aba.search', KeywordSearchInput, Record<string, unknown>>({
  name: 'aba.search',
  summary: 'Finds search terms that contain given words; any part of Chinese and Japanese terms matches.',
  tool: 'aba_search_keywords',
  toolset: 'aba',
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
  price: { text: '1', quote: () => 1 },
  pools: ['keywords'],
  queue: () => 'keywords',
  reports: ({ country }) => ({ country }),
  source: (input) => oneSource(`aba/search/${fingerprint(input)}`),
  table: {
    columns: () => ['wordId', 'keyword', 'rank', 'reportDate', 'firstSeen', 'lastSeen', 'fluctuationType'],
    rows: ({ items }) => items as Record<string, unknown>[],
  },
  respond: {
    type: 'json',
    records: { path: 'items' },
    answer: z.object({
      country: reportSiteCode,
      keyword: z.string(),
      items: z.array(
        z.object({
          wordId,
          keyword: z.string(),
          rank: z.int().nullable().describe('Rank in the last week in which the term was ranked'),
          reportDate: reportDate.nullable(),
          firstSeen: reportDate,
          lastSeen: reportDate.nullable(),
          fluctuationType: fluctuation,
        }),
      ),
      count: z.int(),
    }),
    present: (found) => ({ data: found.get('') ?? {} }),
  },
});
