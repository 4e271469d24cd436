import { z } from 'zod';
import {
  goods,
  rankHistory,
  rankRow,
  reportDate,
  reportSiteCode,
  shareHistory,
  wordId as wordIdAnswer,
} from '../answers.ts';
import { defineQueued, oneSource, presentFetched, type RawRequest } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { isRecord, request } from '../params/request.ts';
import { date, integer } from '../params/scalars.ts';
import { columnsFrom, columnsOf, type Row } from '../tables/columns.ts';
import { LARGEST_WORD_ID, siteOfWord } from './keywords.ts';
import { OF_REPORTS, WEEK_COLUMNS, WORD_COLUMNS } from './week-columns.ts';

/** The id of a search term, from the path. */
function wordIdParameter() {
  return integer({ min: 1, max: LARGEST_WORD_ID }).meta({
    description: 'Id of the search term, from the operations search or rank',
    examples: [33],
  });
}

/** Combines the id in the path with the query parameters. */
function withWordId({ query, params }: RawRequest): Record<string, unknown> {
  return { ...query, wordId: params.wordId };
}

const HISTORY_COLUMNS = [
  ...WEEK_COLUMNS,
  ...WORD_COLUMNS,
  ...columnsOf(rankHistory.element, ['rank', 'rankChange', 'clickShareSum', 'convShareSum'], {
    rank: 'Rank in the week; empty if the term was not ranked',
    rankChange: 'Change in places since the previous week; positive is better',
    clickShareSum: 'Click shares of the three most-clicked products, in percent',
    convShareSum: 'Conversion shares of the same products, in percent',
  }),
];

/** The three most-clicked products of a week. */
const SHARE_COLUMNS = [1, 2, 3].flatMap((position) =>
  columnsFrom({
    [`asin${position}`]: ['text', `Product ${position} of the most-clicked products`],
    [`clickShare${position}`]: ['number', 'Its share of the clicks, in percent'],
    [`conversionShare${position}`]: ['number', 'Its share of the purchases, in percent'],
  }),
);

function* historyRows({ country, wordId, keyword }: Row, history: unknown): Generator<Row> {
  type Clicked = { position: number; asin: string; clickShare: unknown; conversionShare: unknown };
  for (const { goods = [], ...week } of history as (Row & { goods?: Clicked[] })[]) {
    const products = goods.flatMap(({ position, asin, clickShare, conversionShare }) => [
      [`asin${position}`, asin],
      [`clickShare${position}`, clickShare],
      [`conversionShare${position}`, conversionShare],
    ]);
    yield { country, wordId, keyword, ...week, ...Object.fromEntries(products) };
  }
}

const GOODS_COLUMNS = [
  ...WEEK_COLUMNS,
  ...WORD_COLUMNS,
  ...columnsOf(goods, ['position', 'asin', 'title', 'brand', 'imageUrl', 'clickShare', 'conversionShare'], {
    position: 'Position among the three most-clicked products',
    asin: 'ASIN of the product',
    title: 'Title',
    brand: 'Brand',
    imageUrl: 'Address of its picture',
    clickShare: 'Share of the clicks of the term, in percent',
    conversionShare: 'Share of the purchases of the term, in percent',
  }),
];

function* goodsRows({ country, reportDate, wordId, keyword }: Row, products: unknown): Generator<Row> {
  for (const one of products as Row[]) yield { country, reportDate, wordId, keyword, ...one };
}

export const word = defineQueued({
  name: 'aba.word',
  errors: ['WORD_NOT_FOUND'],
  summary:
    'Returns a search term with its latest rank, 52 weeks of history, and its three most-clicked products.',
  tool: 'aba_get_word_detail',
  ...OF_REPORTS,
  routes: [{ method: 'GET', path: '/api/aba/word/:wordId', decode: withWordId }],
  params: request({}, { wordId: wordIdParameter() }),
  reports: ({ wordId }) => ({ country: siteOfWord(wordId) ?? null }),
  source: ({ wordId }) => oneSource(`aba/word/${wordId}`),
  toolData({ current, ...data }) {
    if (!isRecord(current)) return { ...data, current };
    // The products of the latest week are in goods, with their titles.
    const { goods: _, wordId: __, keyword: ___, ...own } = current;
    return { ...data, current: own };
  },
  tables: {
    history: {
      columns: () => HISTORY_COLUMNS,
      rows: ({ word, history }) => historyRows(word as Row, history),
    },
    products: {
      columns: () => GOODS_COLUMNS,
      rows: ({ word, goods, goodsReportDate }) =>
        goodsRows({ ...(word as Row), reportDate: goodsReportDate }, goods),
    },
  },
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
    present: presentFetched,
  },
});

export const wordHistory = defineQueued({
  name: 'aba.wordhistory',
  errors: ['WORD_NOT_FOUND'],
  summary: 'Returns the weekly ranks of a search term.',
  tool: 'aba_get_word_history',
  ...OF_REPORTS,
  routes: [{ method: 'GET', path: '/api/aba/word/:wordId/history', decode: withWordId }],
  params: request(
    {},
    {
      wordId: wordIdParameter(),
      limit: integer({ min: 1, max: 104 }).default(52).describe('Number of weeks'),
    },
  ),
  reports: ({ wordId }) => ({ country: siteOfWord(wordId) ?? null }),
  source: ({ wordId, limit }) => oneSource(`aba/history/${wordId}/${limit}`),
  tables: {
    history: {
      columns: () => [...HISTORY_COLUMNS, ...SHARE_COLUMNS],
      rows: (data) => historyRows(data, data.history),
    },
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
    present: presentFetched,
  },
});

export const wordGoods = defineQueued({
  name: 'aba.wordgoods',
  errors: ['WORD_NOT_FOUND'],
  summary: 'Returns the three most-clicked products of a search term in a week.',
  tool: 'aba_get_word_goods',
  ...OF_REPORTS,
  routes: [{ method: 'GET', path: '/api/aba/word/:wordId/goods', decode: withWordId }],
  params: request(
    {},
    {
      wordId: wordIdParameter(),
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
  reports: ({ country, reportDate }) => ({ country, reportDate }),
  source: ({ wordId, reportDate }) => oneSource(`aba/goods/${wordId}/${reportDate}`),
  tables: {
    products: {
      columns: () => GOODS_COLUMNS,
      rows: (data) => goodsRows(data, data.goods),
    },
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
    present: presentFetched,
  },
});
