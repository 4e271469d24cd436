import { z } from 'zod';
import {
  goods,
  rankHistory,
  rankRow,
  reportDate,
  reportSiteCode,
  wordId as wordIdAnswer,
} from '../answers/keyword.ts';
import { defineQueued, oneSource } from '../define.ts';
import { request } from '../params/request.ts';
import { withWordId, wordId } from '../params/word-id.ts';
import { siteOfWord } from './keywords/word-id.ts';

export interface WordInput {
  wordId: number;
}

export const word = defineQueued<'aba.word', WordInput, Record<string, unknown>>({
  name: 'aba.word',
  errors: ['WORD_NOT_FOUND'],
  summary:
    'Returns a search term with its latest rank, 52 weeks of history, and its three most-clicked products.',
  tool: 'aba_get_word_detail',
  toolset: 'aba',
  routes: [{ method: 'GET', path: '/api/aba/word/:wordId', decode: withWordId }],
  params: request({}, { wordId: wordId() }),
  price: { text: '1', quote: () => 1 },
  pools: ['keywords'],
  queue: () => 'keywords',
  reports: ({ wordId }) => ({ country: siteOfWord(wordId) ?? null }),
  source: ({ wordId }) => oneSource(`aba/word/${wordId}`),
  respond: {
    type: 'json',
    answer: z.object({
      word: z.object({
        wordId: wordIdAnswer,
        keyword: z.string(),
        country: reportSiteCode,
        firstSeen: reportDate,
        lastSeen: reportDate.nullable(),
        weeksSeen: z.int(),
        bestRank: z.int().nullable(),
        bestRankDate: reportDate.nullable(),
      }),
      current: rankRow.nullable().describe('Rank in the latest week; null if not ranked'),
      history: rankHistory,
      goods: z.array(goods),
      goodsReportDate: reportDate.nullable().describe('Week of goods'),
    }),
    present: (found) => ({ data: found.get('') ?? {} }),
  },
});
