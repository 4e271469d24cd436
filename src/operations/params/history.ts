import type { HistoryWindow } from '../../products/history-window.ts';
import { Fault, type Group, grouped, isRecord } from './request.ts';
import { fromDigits } from './scalars.ts';

export const DATE_RANGE_NAMES = ['dateRange', 'dateRangeStart', 'dateRangeEnd'] as const;

const WANTED = 'must have start and end, both in Unix milliseconds, start not after end';

/** `dateRange: {start, end}` in a body, or `dateRangeStart` and `dateRangeEnd` in a query; both in Unix milliseconds. */
export function dateRange() {
  return grouped<{ start: number; end: number } | undefined>(resolve, `History to keep: ${WANTED}`);
}

/** The window of a resolved date range. */
export function windowOf({ start, end }: { start: number; end: number }): HistoryWindow {
  return { startMs: start, endMs: end };
}

function resolve(given: Group): { start: number; end: number } | undefined | Fault {
  const { dateRange: range, dateRangeStart, dateRangeEnd } = given;
  if (range === undefined && dateRangeStart === undefined && dateRangeEnd === undefined) return undefined;
  if (range !== undefined && !isRecord(range))
    return new Fault(`${WANTED}; in a query send dateRangeStart and dateRangeEnd`);
  const start = fromDigits(dateRangeStart ?? (range as Group | undefined)?.start);
  const end = fromDigits(dateRangeEnd ?? (range as Group | undefined)?.end);
  if (!isTime(start) || !isTime(end) || start > end) return new Fault(WANTED);
  return { start, end };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
