import { z } from 'zod';
import { isDate } from '../../platform/calendar.ts';
import { type FieldsOf, fieldProblem, knownFields, nearField, relativeName } from '../answer-fields.ts';
import type { HistoryWindow } from '../products/history.ts';
import type { TableFormat } from '../tables/formats.ts';
import { list } from './lists.ts';
import {
  Fault,
  type Group,
  grouped,
  isRecord,
  type JsonSchema,
  PARAMETER_PARTS,
  request,
} from './request.ts';
import { boolean, fromDigits, got, problem, shownValue } from './scalars.ts';

export const DATE_RANGE_NAMES = ['dateRange', 'dateRangeStart', 'dateRangeEnd'] as const;

const WANTED = 'must have start and end in Unix milliseconds, with start not after end';

const DESCRIPTION = 'History to keep; start must not be after end';

const RANGE_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    start: moment('Unix milliseconds', 1_735_689_600_000),
    end: moment('Unix milliseconds', 1_738_368_000_000),
  },
  required: ['start', 'end'],
  examples: [{ start: 1_735_689_600_000, end: 1_738_368_000_000 }],
};

/** `dateRange: {start, end}` in a body, or `dateRangeStart` and `dateRangeEnd` in a query; both in Unix milliseconds. */
export function dateRange() {
  return grouped<{ start: number; end: number } | undefined>(resolve, {
    description: DESCRIPTION,
    required: false,
    schema: RANGE_SCHEMA,
    forms: {
      dateRange: { schema: RANGE_SCHEMA, description: DESCRIPTION, only: 'body' },
      dateRangeStart: {
        schema: moment('Start of the history to keep, in Unix milliseconds', 1_735_689_600_000),
        description: 'Start of the history to keep, in Unix milliseconds; requires dateRangeEnd',
        only: 'query',
      },
      dateRangeEnd: {
        schema: moment('End of the history to keep, in Unix milliseconds', 1_738_368_000_000),
        description: 'End of the history to keep, in Unix milliseconds, not before dateRangeStart',
        only: 'query',
      },
    },
  });
}

function moment(description: string, example: number): JsonSchema {
  return { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description, examples: [example] };
}

/** Returns the history window of a parsed date range. */
export function windowOf({ start, end }: { start: number; end: number }): HistoryWindow {
  return { startMs: start, endMs: end };
}

function resolve(given: Group): { start: number; end: number } | undefined | Fault {
  const { dateRange: range, dateRangeStart, dateRangeEnd } = given;
  if (range === undefined && dateRangeStart === undefined && dateRangeEnd === undefined) return undefined;
  if (range !== undefined && !isRecord(range))
    return new Fault(`${got(WANTED, range)}; in a query, send dateRangeStart and dateRangeEnd`);
  const start = fromDigits(dateRangeStart ?? (range as Group | undefined)?.start);
  const end = fromDigits(dateRangeEnd ?? (range as Group | undefined)?.end);
  if (!isTime(start) || !isTime(end) || start > end)
    return new Fault(`${WANTED}, got start ${shownValue(start)} and end ${shownValue(end)}`);
  return { start, end };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

const FAULT = problem(
  'must be a positive number of days, or two ISO 8601 dates or two Unix times in milliseconds, separated by a comma, the earlier first',
);

/** A Unix time, or an ISO 8601 date or time. */
const MOMENT = '(?:\\d{9,15}|\\d{4}-\\d{2}-\\d{2}(?:[T ][\\d:.]+(?:Z|[+-]\\d{2}:?\\d{2})?)?)';

/** The period of statistics: a number of days, or two ISO 8601 times or Unix times in milliseconds. */
export function statsPeriod() {
  return z
    .preprocess(
      (value) => (typeof value === 'number' ? String(value) : value),
      z.string(FAULT).trim().refine(isPeriod, FAULT).transform(canonical),
    )
    .meta({
      type: 'string',
      pattern: `^(?:0{0,5}[1-9]\\d{0,5}|${MOMENT},${MOMENT})$`,
      maxLength: 80,
      examples: ['30', '2026-01-01,2026-03-31', '1767225600000,1774915200000'],
    });
}

function isPeriod(value: string): boolean {
  if (/^\d{1,6}$/.test(value)) return Number(value) >= 1;
  const ends = value.split(',').map(momentOf);
  const [from, to] = ends;
  return ends.length === 2 && from !== undefined && to !== undefined && from <= to;
}

/** Removes spaces around the comma. */
function canonical(value: string): string {
  return value
    .split(',')
    .map((part) => (/^\d+$/.test(part.trim()) ? String(Number(part)) : part.trim()))
    .join(',');
}

/** Returns Unix milliseconds, or undefined when the text is not a time. */
function momentOf(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d{9,15}$/.test(trimmed)) return Number(trimmed);
  if (!/^\d{4}-\d{2}-\d{2}([T ][\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/.test(trimmed)) return undefined;
  const moment = Date.parse(trimmed);
  // Date reads 30 February as 2 March.
  return Number.isNaN(moment) || !isDate(trimmed.slice(0, 10)) ? undefined : moment;
}

/** What a canonical input says about the form of its answer. The data are the same in every form. */
interface AnswerForm {
  /** Dotted names, sorted; default: all fields. */
  fields?: readonly string[] | undefined;
  /** Default: JSON. */
  format?: TableFormat | undefined;
  /** The name of the table, with a format. */
  table?: string | undefined;
}

/** Returns whether an input asks for a table of histories, which an answer must have then. */
export function hasHistoryTable(input: unknown): boolean {
  const { table } = formOf(input);
  return table === 'history' || table === 'daily';
}

/** Returns the form of the answer that an input asks for. */
export function formOf(input: unknown): AnswerForm {
  return isRecord(input) ? (input as AnswerForm) : {};
}

/**
 * Returns whether the records of an answer may lack fields: its input selects some, or nothing of the input is known, as that of a
 * call that was answered from the cache.
 */
export function mayLackFields(input: object): boolean {
  return formOf(input).fields !== undefined || Object.keys(input).length === 0;
}

/** Returns the input without the form of its answer. Calls that differ only in this form have the same sources. */
export function withoutForm<Input>(input: Input): Input {
  if (!isRecord(input) || (input.fields === undefined && input.format === undefined)) return input;
  const { fields: _, format: __, table: ___, ...own } = input;
  return own as Input;
}

/**
 * Parses the canonical input of a call again. Requests have no `format` among their parameters: in the product finder it
 * is a filter.
 */
export function parseStored<Input>(operation: { params: z.ZodType<Input> }, stored: unknown): Input {
  const { params, form } = withFormApart(stored);
  const input = operation.params.parse(params);
  return form ? { ...input, ...form } : input;
}

/** Returns a canonical input as the parameters that a request has, and the form of its table, which is in the query of a request. */
export function withFormApart(input: unknown): {
  params: Record<string, unknown>;
  form: { format: TableFormat; table: string } | null;
} {
  const { format: _, table: __, ...params } = input as Record<string, unknown>;
  const { format, table = '' } = formOf(input);
  return { params, form: format === undefined ? null : { format, table } };
}

const MOST_FIELDS = 100;
const LONGEST_NAME = 200;

/** Adds `fields` to the parameters of an operation with a JSON answer. */
export function withFields<Input>(params: z.ZodType<Input>, of: FieldsOf): z.ZodType<Input> {
  const fields = request({ fields: ['fields'] }, { fields: fieldsOf(of) });
  const both = z.unknown().transform((raw, context) => {
    const selects = isRecord(raw) && raw.fields !== undefined;
    const { fields: sent, ...others } = selects ? raw : {};
    const own = params.safeParse(selects ? others : raw);
    const selected = selects ? fields.safeParse({ fields: sent }) : null;
    const issues = [...(own.error?.issues ?? []), ...(selected?.error?.issues ?? [])];
    for (const issue of issues) context.issues.push({ ...issue, input: raw } as z.core.$ZodRawIssue);
    for (const message of issues.length > 0 ? [] : needsOf(of, selected?.data?.fields, own.data))
      context.issues.push({ code: 'custom', path: ['fields'], message, input: raw });
    return selected ? { ...own.data, ...selected.data } : own.data;
  });
  const combined = both as unknown as z.ZodType<Input>;
  PARAMETER_PARTS.set(combined, [params, fields]);
  return combined;
}

/** Returns what is wrong with fields that no record has without further parameters. */
function needsOf({ records }: FieldsOf, fields: readonly string[] = [], input: unknown): string[] {
  return fields.flatMap((field) => {
    const needed = records?.needs?.(field, input) ?? [];
    return needed.length > 0 ? [`${field} needs ${needed.join(' and ')}`] : [];
  });
}

function fieldsOf(of: FieldsOf) {
  const { records } = of;
  const names = knownFields(of).slice(0, 2);
  const always = records?.ids ? `; always returned: ${records.ids.join(', ')}` : '';
  const what = records ? `Fields of ${records.path} to return` : 'Fields of the answer to return';
  return list(
    {
      item: 'field',
      max: MOST_FIELDS,
      schema: {
        type: 'string',
        minLength: 1,
        maxLength: LONGEST_NAME,
        pattern: '^[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+){0,9}$',
        examples: names.slice(0, 1),
      },
      parse(name) {
        const relative = relativeName(of, name);
        const problem =
          name.length > LONGEST_NAME
            ? `must be at most ${LONGEST_NAME} characters`
            : fieldProblem(of, relative);
        return problem === null ? relative : new Fault(problem, nearField(of, relative));
      },
      sorted: true,
    },
    `${what}, as dotted names${always}. Default: all`,
    { required: false },
  );
}

/** `decode`: whether values are in common units. `decode=0` is the same call as one without it. */
export function decode() {
  return boolean()
    .optional()
    .transform((decode) => decode || undefined)
    .describe(
      'Return histories and statistics by name: ISO times, prices in the currency of the site, null without data',
    );
}
