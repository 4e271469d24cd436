import { z } from 'zod';
import { isDate } from '../../platform/calendar.ts';
import { fingerprint } from '../../platform/fingerprint.ts';
import { fluctuation, reportDate, reportSiteCode, SCHEMA_NAMES, wordId } from '../answers.ts';
import { defineQueued, oneSource, presentFetched } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { ASIN_SCHEMA, list, parseAsin } from '../params/lists.ts';
import { request } from '../params/request.ts';
import { date, integer } from '../params/scalars.ts';
import { columnsFrom, columnsOf } from '../tables/columns.ts';

const reverseKeyword = z
  .object({
    wordId,
    keyword: z.string(),
    country: reportSiteCode,
    reportDate,
    rank: z.int(),
    position: z.int().min(1).max(3).describe('Position of the product among the three most clicked'),
    clickShare: z.number().nullable().describe('Percent'),
    conversionShare: z.number().nullable().describe('Percent'),
    fluctuationType: fluctuation,
  })
  .register(SCHEMA_NAMES, { id: 'ReverseKeyword' });

export type ReverseKeyword = z.output<typeof reverseKeyword>;

const COLUMNS = [
  ...columnsFrom({ asin: ['text', 'ASIN of the product'] }),
  ...columnsOf(
    reverseKeyword,
    [
      'country',
      'reportDate',
      'wordId',
      'keyword',
      'rank',
      'position',
      'clickShare',
      'conversionShare',
      'fluctuationType',
    ],
    {
      country: 'Site code, such as us',
      keyword: 'Search term',
      rank: 'Rank of the term in the week',
      clickShare: 'Share of the clicks of the term, in percent',
      conversionShare: 'Share of the purchases of the term, in percent',
    },
  ),
];

const params = request(
  { asins: ['asins'] },
  {
    asins: list(
      { item: 'ASIN', max: 50, schema: ASIN_SCHEMA, parse: parseAsin, sorted: false },
      '1-50 ASINs',
    ),
    country: reportSite().optional().describe('Site code; default: all sites'),
    startDate: date().optional().describe('First date; default: the latest week'),
    endDate: date().optional().describe('Last date'),
    limit: integer({ min: 1, max: 1000 }).default(100).describe('Rows per ASIN'),
  },
).refine(
  ({ startDate = '', endDate = '' }) => !isDate(startDate) || !isDate(endDate) || startDate <= endDate,
  {
    path: ['endDate'],
    error: ({ input }) => {
      const { startDate, endDate } = input as { startDate: string; endDate: string };
      return `must not be before startDate (${startDate}), got ${endDate}`;
    },
  },
);

export type AsinReverseInput = z.output<typeof params>;

export const asinReverse = defineQueued({
  name: 'aba.asinreverse',
  summary: 'Finds the search terms for which a product was among the three most clicked.',
  tool: 'aba_reverse_asin',
  toolset: 'aba',
  routes: [{ method: 'POST', path: '/api/aba/asin-reverse' }],
  params,
  price: { text: '1 per ASIN', quote: ({ asins }) => asins.length },
  pools: ['keywords'],
  reports: ({ country }) => ({ country: country ?? null }),
  source: (input) => oneSource(`aba/reverse/${fingerprint(input)}`),
  tables: {
    terms: {
      columns: () => COLUMNS,
      *rows({ items }) {
        for (const { asin, keywords } of items as { asin: string; keywords: object[] }[])
          for (const keyword of keywords) yield { asin, ...keyword };
      },
    },
  },
  respond: {
    type: 'json',
    records: { path: 'items', ids: ['asin'] },
    answer: z.object({
      items: z
        .array(
          z.object({
            asin: z.string(),
            count: z.int(),
            truncated: z.boolean().describe('Whether more rows than limit exist'),
            keywords: z.array(reverseKeyword),
          }),
        )
        .describe('One entry per ASIN, in the order of the request'),
      startDate: z.string().nullable(),
      endDate: z.string().nullable(),
    }),
    present: presentFetched,
  },
});
