import { z } from 'zod';
import { reportDate, reportSiteCode, SCHEMA_NAMES } from '../answers.ts';
import { defineQueued, oneSource, presentFetched } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { date, oneOf } from '../params/scalars.ts';
import { columnsFrom, type TableShape } from '../tables/columns.ts';

/** The rows that one unit pays for, as in lists of ranks. */
const ROWS_PER_UNIT = 1_000;

/** More rows than a report has had: the highest price, where the rows of the week are not known yet. A call is charged what it has reserved. */
const MOST_ROWS = 5_000_000;

const unitsOf = (rows: number) => Math.max(1, Math.ceil(rows / ROWS_PER_UNIT));

export const EXPORT_FORMATS = ['parquet', 'csv', 'ndjson'] as const;

const params = request(
  {},
  {
    country: reportSite().describe('Site code'),
    reportDate: date().optional().describe('Saturday of a loaded week; default: the latest'),
    fileFormat: oneOf(EXPORT_FORMATS).default('parquet').describe('Form of the file'),
  },
);

export type ExportInput = z.output<typeof params>;

const PLACES = { 1: 'most', 2: 'second most', 3: 'third most' } as const;

/** The columns of an exported week: one row for each term. */
export const EXPORT_TABLE: TableShape = {
  name: 'terms',
  columns: columnsFrom({
    country: ['text', 'Site code'],
    reportDate: ['date', 'Saturday of the week'],
    wordId: ['integer', 'Id of the term, which never changes'],
    keyword: ['text', 'Search term'],
    rank: ['integer', 'Search frequency rank; 1 is searched most'],
    lastRank: ['integer', 'Rank in the previous week'],
    rankChange: ['integer', 'Places gained since the previous week; negative: lost'],
    rankChangeRate: ['number', 'rankChange divided by lastRank'],
    rank4w: ['integer', 'Rank four weeks before'],
    rankChange4w: ['integer', 'Places gained since four weeks before; negative: lost'],
    fluctuationType: ['text', 'new, rising, falling or stable since the previous week'],
    clickShareSum: ['number', 'Sum of the three click shares, in percent'],
    convShareSum: ['number', 'Sum of the three conversion shares, in percent'],
    brands: ['text', 'Brands of the three products, separated by semicolons'],
    categories: ['text', 'Categories of the three products, separated by semicolons'],
    ...Object.assign(
      {},
      ...Object.entries(PLACES).map(([place, most]) => ({
        [`asin${place}`]: ['text', `ASIN of the ${most} clicked product`],
        [`title${place}`]: [
          'text',
          `Title of the ${most} clicked product, in the newest report that had one`,
        ],
        [`clickShare${place}`]: ['number', `Clicks on the ${most} clicked product, in percent of all clicks`],
        [`conversionShare${place}`]: [
          'number',
          `Purchases of the ${most} clicked product, in percent of all purchases`,
        ],
      })),
    ),
  }),
};

const file = z
  .object({
    fileId: z.uuid(),
    name: z.string(),
    contentType: z.string(),
    size: z.int().describe('Bytes'),
    expiresAt: z.iso.datetime(),
    url: z.string().describe('Address of the file, which needs a key; a link opens it without one'),
  })
  .register(SCHEMA_NAMES, { id: 'ExportedFile' });

const answer = z.object({
  country: reportSiteCode,
  reportDate,
  rows: z.int().describe('Rows of the file, one for each term'),
  file,
});

export type ExportAnswer = z.output<typeof answer>;

export const exportWeek = defineQueued({
  name: 'aba.export',
  summary: 'Writes all search terms of a week as a file.',
  tool: 'aba_export_week',
  toolset: 'aba',
  toolHint: 'The answer has the address of the file, not its rows.',
  routes: [{ method: 'POST', path: '/api/aba/export' }],
  params,
  price: {
    text: '1 per 1,000 rows of the week',
    quote: (_input, rows = MOST_ROWS) => unitsOf(rows),
  },
  pools: ['exports'],
  isOwn: true,
  reports: ({ country, reportDate }) => ({ country, reportDate, needsWeek: true }),
  source: ({ country, reportDate, fileFormat }) =>
    oneSource(`aba/export/${country}/${reportDate}/${fileFormat}`),
  respond: {
    type: 'json',
    answer,
    present: presentFetched,
  },
});
