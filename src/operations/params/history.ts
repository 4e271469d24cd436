import type { HistoryWindow } from '../products/history-window.ts';
import type { JsonSchema } from './documentation.ts';
import { Fault, type Group, grouped, isRecord } from './request.ts';
import { fromDigits } from './scalars.ts';
import { got, shownValue } from './shown-value.ts';

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
