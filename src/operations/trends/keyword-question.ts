import { z } from 'zod';
import { invalidParameters, type ParameterFault } from '../../platform/errors.ts';
import { addDays, date, yearBefore } from '../params/dates.ts';
import type { JsonSchema } from '../params/documentation.ts';
import { geoOrWorld } from '../params/geo.ts';
import { language } from '../params/language.ts';
import { list } from '../params/lists.ts';
import { Fault } from '../params/request.ts';
import { integer, oneOf, PRINTABLE, VISIBLE as SOMETHING } from '../params/scalars.ts';

export const PROPERTIES = ['web', 'news', 'images', 'youtube', 'froogle'] as const;

export type Property = (typeof PROPERTIES)[number];

/** What the four endpoints about keywords are asked. */
export interface KeywordInput {
  /** In the order of the request. */
  keyword: string[];
  /** YYYY-MM-DD; left out until the day of the call is known. */
  startDate?: string | undefined;
  endDate?: string | undefined;
  /** '' for the whole world. */
  geo: string;
  hl: string;
  property: Property;
  category: number;
  /** Minutes east of UTC. */
  timezone: number;
}

export const KEYWORD_NAMES = { keyword: ['keyword'] } as const;

const EARLIEST = '2004-01-01';
const MAX_KEYWORDS = 5;
const LONGEST_KEYWORD = 100;
/** In characters of Unicode, not in the halves of them that a text's length counts. */
const NOT_TOO_LONG = new RegExp(`^.{1,${LONGEST_KEYWORD}}$`, 'su');
/** At least one character that is not among those that only join, turn or separate others. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}]/u;
const LARGEST_CATEGORY = 2_147_483_647;

const KEYWORD_SCHEMA: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: LONGEST_KEYWORD,
  pattern: SOMETHING,
  examples: ['kettle'],
};

/** The parameters that the four share. */
export function keywordParams() {
  return {
    keyword: list(
      { item: 'keyword', max: MAX_KEYWORDS, schema: KEYWORD_SCHEMA, parse: parseKeyword, sorted: false },
      `1-${MAX_KEYWORDS} keywords, as a list or separated by commas`,
    ),
    startDate: date().optional().describe('First day, YYYY-MM-DD; 12 months ago unless given'),
    endDate: date().optional().describe('Last day, YYYY-MM-DD; today unless given'),
    geo: geoOrWorld(),
    hl: language(),
    property: oneOf(PROPERTIES)
      .default('web')
      .describe(`Search of: ${PROPERTIES.join(', ')}`),
    category: integer({ min: 0, max: LARGEST_CATEGORY }).default(0).describe('Category id; 0: all'),
    timezone: timezone(),
  };
}

/** Our sign: minutes to add to UTC. Upstream counts the other way. */
export function timezone() {
  return integer({ min: -1439, max: 1439 })
    .default(0)
    .describe('Minutes east of UTC, for example 480 for UTC+8; for the words that name times');
}

function parseKeyword(item: string): string | Fault {
  if (!NOT_TOO_LONG.test(item) || !PRINTABLE.test(item))
    return new Fault(`must have at most ${LONGEST_KEYWORD} characters, none a control character`);
  return VISIBLE.test(item) ? item : new Fault('must have something to see');
}

/**
 * The window completed and checked. Days are those of UTC, as upstream counts; since a caller's day may be one ahead of
 * that, a window may end a day later.
 */
export function withWindow<Input extends KeywordInput>(input: Input, today: string): Input {
  const { endDate = today, startDate = defaultStart(endDate, today) } = input;
  const faults: ParameterFault[] = [];
  const fault = (parameter: string, problem: string) => faults.push({ parameter, problem });
  const tooEarly = `must be ${EARLIEST} or later: data begin there`;
  const tooLate = `must not be in the future: today is ${today} in UTC`;
  if (input.startDate !== undefined && startDate < EARLIEST) fault('startDate', tooEarly);
  if (startDate > today) fault('startDate', tooLate);
  if (endDate < EARLIEST) fault('endDate', tooEarly);
  else if (endDate > addDays(today, 1)) fault('endDate', tooLate);
  else if (endDate < startDate) fault('endDate', `must not be before startDate, ${startDate}`);
  if (faults.length > 0) throw invalidParameters(faults);
  return { ...input, startDate, endDate };
}

/** 12 months ago; where the window would end before that, 12 months before its end. */
function defaultStart(endDate: string, today: string): string {
  // An end before all data is refused by itself; the start is not to be blamed for it.
  if (endDate <= EARLIEST) return EARLIEST;
  const yearAgo = yearBefore(today);
  const start = yearAgo < endDate ? yearAgo : yearBefore(endDate);
  return start < EARLIEST ? EARLIEST : start;
}

/** What of a question tells upstream what to look at, without the keywords. */
export function scopeOf(input: KeywordInput): string {
  const { geo, startDate, endDate, property, category, hl } = input;
  return [geo, startDate, endDate, property, category, hl].join('/');
}

/** Keywords as a part of an identity. */
export function keywordsId(keywords: readonly string[]): string {
  return keywords.map(encodeURIComponent).join(',');
}

/** What every answer repeats of its question. */
export function echoOf(input: KeywordInput) {
  const { keyword: keywords, geo, hl, property, category, startDate, endDate } = input;
  return { keywords, geo, hl, property, category, startDate, endDate };
}

/** The same, in documentation. */
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

/** How long what was fetched will do while upstream refuses. */
export const STALE_FOR_MS = 24 * 3_600_000;
