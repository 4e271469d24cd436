import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { rankRow, reportDate, reportSiteCode } from '../answers.ts';
import { defineQueued, oneSource } from '../define.ts';
import { mayLackFields } from '../params/answer-form.ts';
import { reportSite } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { date, integer, oneOf, text } from '../params/scalars.ts';
import { type Column, columnsOf, type Row as TableRow } from '../tables/columns.ts';
import { CHANGE_LIMITS, FLUCTUATIONS } from './keywords.ts';
import { CLICKED_COLUMNS, OF_REPORTS, WEEK_COLUMNS } from './week-columns.ts';

/** Deeper pages need `afterRank`, whose cost does not grow with depth. */
const LARGEST_OFFSET = 10_000;

const params = request(
  {},
  {
    country: reportSite().describe('Site code'),
    reportDate: date().optional().describe('Saturday of a loaded week; default: the latest'),
    rankMin: integer({ min: 1 }).optional().describe('Lowest rank, inclusive'),
    rankMax: integer({ min: 1 }).optional().describe('Highest rank, inclusive'),
    keyword: text({ maxLength: 200 })
      .optional()
      .meta({
        description:
          'Terms with all these words or parts of words, in any order; Chinese and Japanese text must appear verbatim',
        // plain-english: allow
        examples: ['desk lamp'],
      }),
    fluctuationType: oneOf(FLUCTUATIONS).optional().describe('Change of the rank since the previous week'),
    brand: text({ maxLength: 200 })
      .optional()
      .meta({
        description: 'One of the three most-clicked brands; ignores case',
        examples: ['Lumio'],
      }),
    category: text({ maxLength: 200 })
      .optional()
      .meta({
        description: 'One of the three most-clicked categories; ignores case',
        examples: ['Office Products'],
      }),
    clickSumMin: integer({ min: 0, max: 100 })
      .optional()
      .describe('Minimum sum of the three click shares, in percent'),
    convSumMin: integer({ min: 0, max: 100 })
      .optional()
      .describe('Minimum sum of the three conversion shares, in percent'),
    limit: integer({ min: 1, max: 1000 }).default(200).describe('Rows'),
    offset: integer({ min: 0, max: LARGEST_OFFSET })
      .optional()
      .describe('Rows to skip; for deeper pages use afterRank'),
    afterRank: integer({ min: 0 }).optional().describe('Rank of the last row of the previous page'),
  },
)
  .refine(({ offset, afterRank }) => offset === undefined || afterRank === undefined, {
    path: ['afterRank'],
    message: 'cannot be used together with offset',
  })
  .refine(({ rankMin = 1, rankMax = Number.MAX_SAFE_INTEGER }) => rankMin <= rankMax, {
    path: ['rankMax'],
    error: ({ input }) => {
      const { rankMin, rankMax } = input as { rankMin: number; rankMax: number };
      return `must not be below rankMin (${rankMin}), got ${rankMax}`;
    },
  });

export type RankInput = z.output<typeof params>;

type Row = z.output<typeof rankRow>;

const COLUMNS: readonly Column[] = [
  ...WEEK_COLUMNS,
  ...columnsOf(
    rankRow,
    [
      'wordId',
      'keyword',
      'rank',
      'lastRank',
      'rankChange',
      'rankChangeRate',
      'rank4w',
      'rankChange4w',
      'fluctuationType',
      'clickShareSum',
      'convShareSum',
    ],
    {
      keyword: 'Search term',
      rank: 'Rank in the week',
      rankChange4w: 'Change in places since four weeks before; positive is better',
    },
  ),
  ...CLICKED_COLUMNS,
];

/** Yields the rows of an answer: the three products have a column each. */
function* rankRows({ country, reportDate, rows }: Record<string, unknown>): Generator<TableRow> {
  for (const { goods, ...row } of rows as Row[]) {
    const products = goods.map(({ position, asin }) => [`asin${position}`, asin] as const);
    yield { country, reportDate, ...row, ...Object.fromEntries(products) };
  }
}

export const rank = defineQueued({
  name: 'aba.rank',
  summary: 'Lists the search terms of a week by rank, with filters.',
  tool: 'aba_get_rank_list',
  toolDefaults: { limit: 50 },
  ...OF_REPORTS,
  routes: [{ method: 'GET', path: '/api/aba/rank' }],
  params,
  reports: (input) => ({
    country: input.country,
    reportDate: input.reportDate,
    needsWeek: true,
    labels: (['brand', 'category'] as const).filter((label) => input[label] !== undefined),
  }),
  source: (input) => oneSource(`aba/rank/${fingerprint(input)}`),
  toolData(data, input) {
    if (mayLackFields(input)) return data;
    const rows = (data.rows as Row[]).map(({ goods, ...row }) => ({
      ...row,
      asins: goods.map(({ asin }) => asin),
    }));
    return { ...data, rows };
  },
  tables: { ranks: { columns: () => COLUMNS, rows: rankRows } },
  respond: {
    type: 'json',
    records: { path: 'rows' },
    answer: z.object({
      country: reportSiteCode,
      reportDate,
      previousReportDate: reportDate.nullable().describe('The previous week, if loaded'),
      rows: z.array(rankRow).describe('Sorted by rank'),
      count: z.int(),
      limit: z.int(),
      offset: z.int().optional(),
      afterRank: z.int().optional(),
      nextAfterRank: z.int().nullable().describe('afterRank of the next page; null on the last page'),
      total: z.int().nullable().describe('Number of rows of the week; only with offset and without filters'),
    }),
    present: (found: ReadonlyMap<string, Record<string, unknown>>) => ({
      data: found.get('') ?? {},
      metadata: { fluctuationLimits: CHANGE_LIMITS },
    }),
  },
});
