import { z } from 'zod';
import { reportSiteCode, shareHistory, wordId as wordIdAnswer } from '../answers/keyword.ts';
import { defineQueued, oneSource } from '../define.ts';
import { request } from '../params/request.ts';
import { integer } from '../params/scalars.ts';
import { withWordId, wordId } from '../params/word-id.ts';
import { siteOfWord } from './keywords/word-id.ts';

export interface WordHistoryInput {
  wordId: number;
  /** Weeks. */
  limit: number;
}

export const wordHistory = defineQueued<'aba.wordhistory', WordHistoryInput, Record<string, unknown>>({
  name: 'aba.wordhistory',
  errors: ['WORD_NOT_FOUND'],
  summary: 'Returns the weekly ranks of a search term.',
  tool: 'aba_get_word_history',
  toolset: 'aba',
  routes: [{ method: 'GET', path: '/api/aba/word/:wordId/history', decode: withWordId }],
  params: request(
    {},
    { wordId: wordId(), limit: integer({ min: 1, max: 104 }).default(52).describe('Number of weeks') },
  ),
  price: { text: '1', quote: () => 1 },
  pools: ['keywords'],
  queue: () => 'keywords',
  reports: ({ wordId }) => ({ country: siteOfWord(wordId) ?? null }),
  source: ({ wordId, limit }) => oneSource(`aba/history/${wordId}/${limit}`),
  table: {
    columns: () => ['wordId', 'keyword', 'reportDate', 'rank', 'rankChange', 'clickShareSum', 'convShareSum'],
    rows: ({ wordId, keyword, history }) =>
      (history as Record<string, unknown>[]).map((week) => ({ wordId, keyword, ...week })),
  },
  respond: {
    type: 'json',
    records: { path: 'history' },
    answer: z.object({
      wordId: wordIdAnswer,
      keyword: z.string(),
      country: reportSiteCode,
      history: shareHistory,
      titles: z
        .record(z.string(), z.string())
        .describe('Titles of the products in the history by ASIN, without those that are unknown'),
    }),
    present: (found) => ({ data: found.get('') ?? {} }),
  },
});
