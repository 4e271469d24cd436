import { z } from 'zod';
import { goods, reportDate, reportSiteCode, wordId as wordIdAnswer } from '../answers/keyword.ts';
import { defineQueued, oneSource } from '../define.ts';
import { date } from '../params/date.ts';
import { reportSite } from '../params/report-site.ts';
import { request } from '../params/request.ts';
import { withWordId, wordId } from '../params/word-id.ts';
import type { ReportSite } from './keywords/sites.ts';
import { siteOfWord } from './keywords/word-id.ts';

export interface WordGoodsInput {
  wordId: number;
  country: ReportSite;
  reportDate: string;
}

export const wordGoods = defineQueued<'aba.wordgoods', WordGoodsInput, Record<string, unknown>>({
  name: 'aba.wordgoods',
  errors: ['WORD_NOT_FOUND'],
  summary: 'Returns the three most-clicked products of a search term in a week.',
  tool: 'aba_get_word_goods',
  toolset: 'aba',
  routes: [{ method: 'GET', path: '/api/aba/word/:wordId/goods', decode: withWordId }],
  params: request(
    {},
    {
      wordId: wordId(),
      country: reportSite().describe('Site code; must be the site of the wordId'),
      reportDate: date().describe('Saturday of a loaded week'),
    },
  ).refine(({ wordId, country }) => (siteOfWord(wordId) ?? country) === country, {
    path: ['country'],
    error: ({ input }) => {
      const { wordId, country } = input as { wordId: number; country: string };
      return `must be ${siteOfWord(wordId)}, the site of the wordId, got ${country}`;
    },
  }),
  price: { text: '1', quote: () => 1 },
  pools: ['keywords'],
  queue: () => 'keywords',
  reports: ({ country, reportDate }) => ({ country, reportDate }),
  source: ({ wordId, reportDate }) => oneSource(`aba/goods/${wordId}/${reportDate}`),
  table: {
    columns: () => ['position', 'asin', 'title', 'brand', 'imageUrl', 'clickShare', 'conversionShare'],
    rows: ({ goods }) => goods as Record<string, unknown>[],
  },
  respond: {
    type: 'json',
    records: { path: 'goods' },
    answer: z.object({
      wordId: wordIdAnswer,
      keyword: z.string(),
      country: reportSiteCode,
      reportDate,
      rank: z.int().nullable().describe('null if the term was not ranked in that week'),
      goods: z.array(goods),
    }),
    present: (found) => ({ data: found.get('') ?? {} }),
  },
});
