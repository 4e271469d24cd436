import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { reportDate, reportSiteCode, SCHEMA_NAMES, wordId } from '../answers.ts';
import { normaliseTerm, piecesOfKeyword, siteOfWord } from '../brand-analytics/keywords.ts';
import { CLICKED_COLUMNS, COUNTRY_COLUMN } from '../brand-analytics/week-columns.ts';
import { defineQueued, oneSource, presentFetched } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { list } from '../params/lists.ts';
import { range, rangeNames } from '../params/range.ts';
import { Fault, request } from '../params/request.ts';
import { date, integer, oneOf, PRINTABLE, text, VISIBLE } from '../params/scalars.ts';
import { columnsFrom, columnsOf } from '../tables/columns.ts';
import { figures } from './figures.ts';
import { getAndPost } from './parts.ts';
import { LONGEST_CURSOR, positionOf, SCREEN_SORTS } from './screen-cursor.ts';

const LARGEST_RANK = 2_000_000_000;

/** The most words of `words` or `notWords` in all. A screen compares each of them with every term of the week. */
const MOST_WORDS = 10;

const LONGEST_ITEM = 100;

/** The rows that one unit pays for. */
const ROWS_PER_UNIT = 100;

/** The most rows of a page. */
export const MOST_ROWS = 1_000;

const changes = (name: string, weeks: string) =>
  range({
    name,
    min: -LARGEST_RANK,
    max: LARGEST_RANK,
    of: `Places gained in ${weeks} weeks; negative: lost`,
  });

const share = (name: string, of: string) =>
  range({
    name,
    min: 0,
    max: 100,
    decimals: true,
    of: `Sum of three ${of} shares, in percent`,
  });

function terms(description: string) {
  return list(
    {
      item: 'text',
      max: MOST_WORDS,
      schema: { type: 'string', minLength: 1, maxLength: LONGEST_ITEM, pattern: VISIBLE, examples: ['lamp'] },
      parse: parseWords,
      sorted: true,
    },
    description,
    { required: false },
  );
}

function parseWords(item: string): string | Fault {
  if (item.length > LONGEST_ITEM) return new Fault(`must be at most ${LONGEST_ITEM} characters`);
  if (!PRINTABLE.test(item))
    return new Fault('must not contain control characters, or bytes that are not UTF-8');
  const wanted = normaliseTerm(item);
  return wordsIn([wanted]) > 0 ? wanted : new Fault('must have a letter or a digit');
}

function wordsIn(items: readonly string[]): number {
  const pieces = items.map(piecesOfKeyword);
  return pieces.reduce((sum, { words, unbroken }) => sum + words.length + unbroken.length, 0);
}

const NOT_A_CURSOR = 'must be the nextCursor of an answer';

const shape = {
  country: reportSite().describe('Site code'),
  week: date().optional().describe('Saturday of a week; default: the latest, or that of the cursor'),
  rank: range({ name: 'rank', min: 1, max: LARGEST_RANK, of: 'Rank in the week' }),
  change4: changes('change4', 'four'),
  change12: changes('change12', 'twelve'),
  clickShare: share('clickShare', 'click'),
  conversionShare: share('conversionShare', 'conversion'),
  words: terms('Terms with all these words, in any form; from three letters on, also inside longer words'),
  notWords: terms('No terms with one of these words, in any form; not inside longer words'),
  brand: text({ maxLength: 200 })
    .optional()
    .meta({ description: 'One of the three brands; ignores case', examples: ['Lumio'] }),
  newSince: date().optional().describe('First seen in the week of this day, or later'),
  sort: oneOf(SCREEN_SORTS).default('rank').describe('Descending with a minus; ties by rank'),
  limit: integer({ min: 1, max: MOST_ROWS }).default(100).describe('Rows'),
  cursor: z
    .string(NOT_A_CURSOR)
    .max(LONGEST_CURSOR, NOT_A_CURSOR)
    .refine((cursor) => positionOf(cursor) !== null, NOT_A_CURSOR)
    .optional()
    .meta({
      description: 'nextCursor of the page before',
      pattern: '^[A-Za-z0-9_-]+$',
      examples: ['MjAyNi0wNC0xMSByYW5rIDEwMCAxMDAgMzM'],
    }),
};

const groups = {
  rank: rangeNames('rank'),
  change4: rangeNames('change4'),
  change12: rangeNames('change12'),
  clickShare: rangeNames('clickShare'),
  conversionShare: rangeNames('conversionShare'),
  words: ['words'],
  notWords: ['notWords'],
} as const;

const params = request(groups, shape).superRefine((input, context) => {
  for (const name of ['words', 'notWords'] as const) {
    const words = wordsIn(input[name] ?? []);
    if (words > MOST_WORDS)
      context.addIssue({
        code: 'custom',
        path: [name],
        message: `must have at most ${MOST_WORDS} words in all, got ${words}`,
      });
  }
  const position = input.cursor === undefined ? null : positionOf(input.cursor);
  if (!position) return;
  const problem = (message: string) => context.addIssue({ code: 'custom', path: ['cursor'], message });
  if (siteOfWord(position.wordId) !== input.country) problem(`is not of the country ${input.country}`);
  if (position.sort !== input.sort) problem(`is of the sort ${position.sort}, not ${input.sort}`);
  if (input.week !== undefined && position.week !== input.week)
    problem(`is of the week ${position.week}, not ${input.week}`);
});

export type ScreenInput = z.output<typeof params>;

/** Returns the week of a screen, and the parameter that names it; undefined: the latest. */
export function weekOfScreen({ week, cursor }: ScreenInput): { week?: string; parameter: 'week' | 'cursor' } {
  if (week !== undefined || cursor === undefined) return { ...(week && { week }), parameter: 'week' };
  const position = positionOf(cursor);
  return { ...(position && { week: position.week }), parameter: 'cursor' };
}

const top = z
  .object({
    asin: z.string(),
    brand: z.string().nullable().describe('null unless the product was looked up in this service'),
    title: z.string().nullable(),
  })
  .register(SCHEMA_NAMES, { id: 'ScreenedProduct' });

const row = z
  .object({
    wordId,
    keyword: z.string(),
    rank: z.int(),
    change4: z.int().nullable().describe('Places gained since four weeks before; null if unknown'),
    change12: z.int().nullable().describe('Places gained since twelve weeks before; null if unknown'),
    clickShare: z
      .number()
      .nullable()
      .describe('Sum of the three products, in percent; null if all are blank'),
    conversionShare: z
      .number()
      .nullable()
      .describe('Sum of the three products, in percent; null if all are blank'),
    top: z.array(top).describe('The three most-clicked products, most clicked first'),
    firstSeen: reportDate,
  })
  .register(SCHEMA_NAMES, { id: 'ScreenedTerm' });

type Row = z.output<typeof row>;

const COLUMNS = [
  ...COUNTRY_COLUMN,
  ...columnsFrom({ week: ['date', 'Saturday of the week'] }),
  ...columnsOf(
    row,
    ['wordId', 'keyword', 'rank', 'change4', 'change12', 'clickShare', 'conversionShare', 'firstSeen'],
    {
      keyword: 'Search term',
      rank: 'Rank in the week',
      firstSeen: 'Saturday of the first loaded week in which the term was ranked',
    },
  ),
  ...CLICKED_COLUMNS,
];

/** Returns the price of a page with this many rows. */
export const unitsOfRows = (rows: number) => Math.max(1, Math.ceil(rows / ROWS_PER_UNIT));

export const screen = defineQueued({
  name: 'research.screen',
  summary: 'Screens the search terms of a week by rank, change, shares, words, brand and first week.',
  tool: 'research_screen',
  toolset: 'research',
  routes: getAndPost('/api/research/screen'),
  params,
  price: {
    text: '1 per 100 rows returned, at least 1; reserved for limit',
    quote: ({ limit }) => unitsOfRows(limit),
    settle: (_input, { data }) => unitsOfRows((data.rows as unknown[] | undefined)?.length ?? 0),
  },
  pools: ['keywords'],
  reports: (input) => {
    const { week, parameter } = weekOfScreen(input);
    return {
      country: input.country,
      reportDate: week,
      parameter,
      needsWeek: true,
      labels: input.brand === undefined ? [] : ['brand'],
    };
  },
  source: (input) =>
    oneSource(`screen/${fingerprint(input)}`).map((source) => ({ ...source, provider: 'reports' as const })),
  tables: {
    terms: {
      columns: () => COLUMNS,
      *rows({ country, week, rows }) {
        for (const { top: products, ...one } of rows as Row[]) {
          const [asin1 = null, asin2 = null, asin3 = null] = products.map(({ asin }) => asin);
          yield { country, week, ...one, asin1, asin2, asin3 };
        }
      },
    },
  },
  respond: {
    type: 'json',
    records: { path: 'rows' },
    answer: z.object({
      country: reportSiteCode,
      week: reportDate,
      rows: z.array(row).describe('In the order of sort'),
      total: z.int().describe('Terms of the week that match, on all pages'),
      nextCursor: z.string().nullable().describe('cursor of the next page; null on the last page'),
      figures,
    }),
    present: presentFetched,
  },
});
