import { z } from 'zod';
import { addDays, yearBefore } from '../../platform/calendar.ts';
import { invalidParameters, type ParameterFault } from '../../platform/errors.ts';
import type { Source } from '../define.ts';
import { geoOrWorld, language } from '../params/geo.ts';
import { list } from '../params/lists.ts';
import { Fault, type JsonSchema } from '../params/request.ts';
import { date, integer, oneOf, PRINTABLE, VISIBLE as SOMETHING } from '../params/scalars.ts';
import type { Row } from '../tables/columns.ts';

export const PROPERTIES = ['web', 'news', 'images', 'youtube', 'froogle'] as const;

export type Property = (typeof PROPERTIES)[number];

export const KEYWORD_NAMES = { keyword: ['keyword'] } as const;

/** What all operations on search trends have in common. */
export const OF_TRENDS = {
  toolset: 'trends',
  price: { text: '1', quote: () => 1 },
  pools: ['trends'],
  freshness: 'maxStale',
} as const;

const EARLIEST = '2004-01-01';

const MAX_KEYWORDS = 5;

export const LONGEST_KEYWORD = 100;

/** Counts Unicode characters, not UTF-16 units. */
const NOT_TOO_LONG = new RegExp(`^.{1,${LONGEST_KEYWORD}}$`, 'su');

/** Requires at least one visible character: not white space, joiners or direction marks only. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}]/u;

const LARGEST_CATEGORY = 2_147_483_647;

const KEYWORD_SCHEMA: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: LONGEST_KEYWORD,
  pattern: SOMETHING,
  examples: ['kettle'],
};

/** The parameters that the four endpoints share. */
export function keywordParams() {
  return {
    keyword: list(
      { item: 'keyword', max: MAX_KEYWORDS, schema: KEYWORD_SCHEMA, parse: parseKeyword, sorted: false },
      `1-${MAX_KEYWORDS} keywords, as a list or separated by commas`,
    ),
    startDate: date().optional().describe('First day, YYYY-MM-DD; default: 12 months ago'),
    endDate: date().optional().describe('Last day, YYYY-MM-DD; default: today'),
    geo: geoOrWorld(),
    hl: language(),
    property: oneOf(PROPERTIES)
      .default('web')
      .describe(`Kind of search: ${PROPERTIES.join(', ')}`),
    category: integer({ min: 0, max: LARGEST_CATEGORY })
      .default(0)
      .describe('Category id; 0: all categories'),
    timezone: timezone(),
    maxStale: maxStale(),
  };
}

/** Minutes to add to UTC. Upstream uses the opposite sign. */
export function timezone() {
  return integer({ min: -1439, max: 1439 })
    .default(0)
    .describe('Minutes east of UTC; affects formatted times only');
}

/** The input of the four keyword endpoints. `withWindow` fills in the default dates. */
export type KeywordInput = z.output<z.ZodObject<ReturnType<typeof keywordParams>>>;

function parseKeyword(item: string): string | Fault {
  if (!NOT_TOO_LONG.test(item) || !PRINTABLE.test(item))
    return new Fault(
      `must have at most ${LONGEST_KEYWORD} characters, no control characters, and no bytes that are not UTF-8`,
    );
  return VISIBLE.test(item) ? item : new Fault('must contain a visible character');
}

/**
 * Fills in the defaults of the window and validates it. Days are UTC, as upstream's are. Because the caller's date may be
 * one day ahead of UTC, a window may end one day later.
 */
export function withWindow<Input extends KeywordInput>(input: Input, today: string): Input {
  const { endDate = today, startDate = defaultStart(endDate, today) } = input;
  const faults: ParameterFault[] = [];
  const fault = (parameter: string, problem: string) => faults.push({ parameter, problem });
  const tooEarly = `must be ${EARLIEST} or later`;
  const tooLate = `must not be in the future (today is ${today} in UTC)`;
  if (input.startDate !== undefined && startDate < EARLIEST)
    fault('startDate', `${tooEarly}, got ${startDate}`);
  if (startDate > today) fault('startDate', `${tooLate}, got ${startDate}`);
  if (endDate < EARLIEST) fault('endDate', `${tooEarly}, got ${endDate}`);
  else if (endDate > addDays(today, 1)) fault('endDate', `${tooLate}, got ${endDate}`);
  else if (endDate < startDate)
    fault('endDate', `must not be before startDate (${startDate}), got ${endDate}`);
  if (faults.length > 0) throw invalidParameters(faults);
  return { ...input, startDate, endDate };
}

/** Returns the date 12 months ago, or 12 months before the end of the window if the window ends earlier. */
function defaultStart(endDate: string, today: string): string {
  // An end before the first data has its own error, so the start must not cause a second one.
  if (endDate <= EARLIEST) return EARLIEST;
  const yearAgo = yearBefore(today);
  const start = yearAgo < endDate ? yearAgo : yearBefore(endDate);
  return start < EARLIEST ? EARLIEST : start;
}

/** Returns the part of a source's identity that all keywords of a request share. */
export function scopeOf(input: KeywordInput): string {
  const { geo, startDate, endDate, property, category, hl } = input;
  return [geo, startDate, endDate, property, category, hl].join('/');
}

/** Returns the keywords as part of a source's identity. */
export function keywordsId(keywords: readonly string[]): string {
  return keywords.map(encodeURIComponent).join(',');
}

/** Returns the parameters that every answer repeats. */
export function echoOf(input: KeywordInput) {
  const { keyword: keywords, geo, hl, property, category, startDate, endDate } = input;
  return { keywords, geo, hl, property, category, startDate, endDate };
}

/** Schema of `echoOf`. */
export function echoed() {
  return {
    keywords: z.array(z.string()).describe('In the order of the request'),
    geo: z.string().describe('Region code; empty: worldwide'),
    hl: z.string(),
    property: z.enum(PROPERTIES),
    category: z.int(),
    startDate: z.iso.date(),
    endDate: z.iso.date(),
  };
}

/** Data of the search-trend provider is kept for a day, because the provider often refuses. */
const KEPT_SECONDS = 86_400;

/** An input that says which data the caller accepts while the provider refuses. */
export interface StaleInput {
  /** The highest age in seconds. Without it, no data beyond the cache's hour are accepted. */
  maxStale?: number | undefined;
}

export function maxStale() {
  return integer({ min: 0, max: KEPT_SECONDS })
    .optional()
    .describe('Accepted age of data in seconds while the provider refuses');
}

/** Returns how long the data of a source is kept, and which age this caller accepts. */
export function staleUpTo({ maxStale }: StaleInput): Pick<Source, 'keptForMs' | 'staleForMs'> {
  const keptForMs = KEPT_SECONDS * 1000;
  return maxStale === undefined ? { keptForMs } : { keptForMs, staleForMs: maxStale * 1000 };
}

/**
 * Returns points or regions as a table with a column for each keyword, for tools. A value without data is null.
 * @param places the columns before the values.
 */
export function tableByKeyword(
  list: unknown,
  keywords: unknown,
  places: readonly string[],
): { columns: unknown[]; rows: unknown[][] } | null {
  if (!Array.isArray(list) || !list.every(({ values }) => Array.isArray(values))) return null;
  const rows = list.map((record) => [
    ...places.map((name) => record[name] ?? null),
    ...record.values.map(({ value, hasData }: { value: number; hasData: boolean }) =>
      hasData ? value : null,
    ),
  ]);
  return { columns: [...places, ...(keywords as string[])], rows };
}

/** Yields a row for each keyword of each point or region. A value without data is null. */
export function* rowsByValue(list: unknown, geo: unknown): Generator<Row> {
  for (const { values, ...place } of list as { values: { value: number; hasData: boolean }[] }[]) {
    for (const one of values) yield { ...place, geo, ...one, value: one.hasData ? one.value : null };
  }
}
