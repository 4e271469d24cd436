import type { Readable } from 'node:stream';
import { isSaturday } from '../../operations/brand-analytics/keywords/report-week.ts';
import { type CsvPiece, csvPieces } from './csv-pieces.ts';
import { OLD_COLUMNS, otherDate, PRESENT_COLUMNS, recordsOf } from './csv-records.ts';
import { dateOf } from './csv-rows.ts';
import type { PieceReader } from './piece-reader.ts';
import { readInOrder } from './read-in-order.ts';
import type { Report, StagedPiece } from './report.ts';
import { badLine, ReportError } from './report-error.ts';

/** The range and the week are filters, too. A file with more filters contains only a part of a week. */
const MOST_FILTERS = 2;

/**
 * Reads a file that was downloaded by hand. Line 1 describes the request and line 2 names the columns, both in any
 * language. So the number of columns determines the layout, and its position determines each column.
 */
export function readCsvReport(bytes: Readable, reader: PieceReader): Report {
  let week: string | null = null;

  async function* pieces(): AsyncGenerator<StagedPiece> {
    const file = csvPieces(bytes);
    const head = await file.next();
    if (head.done) throw new ReportError('The file has no line with column names.');
    const { columns, week: weekOfLine1 } = readHead(head.value);
    for await (const staged of readInOrder(records(file, columns), reader)) {
      if (staged.dated) {
        const { date, at } = staged.dated;
        week ??= checkWeek(date, weekOfLine1, at);
        if (date !== week) throw otherDate(date, week, at);
      }
      yield staged;
    }
    week ??= weekOfLine1;
  }

  return { source: 'csv', pieces: pieces(), facts: () => ({ week, marketplaceIds: [] }) };
}

async function* records(file: AsyncIterable<CsvPiece>, columns: number) {
  for await (const piece of file) yield { format: 'csv' as const, columns, ...piece };
}

function readHead(head: CsvPiece): { columns: number; week: string | null } {
  // Line 1 is not always valid CSV.
  const [first, second] = recordsOf(head);
  const week = weekOf(first?.fields ?? []);
  if (!second) throw new ReportError('The file has no line with column names.');
  if (second.fault) throw badLine(second.line, second.fault);
  return { columns: columnsOf(second.fields, second.line), week };
}

function columnsOf({ length, 0: first = '' }: readonly string[], line: number): number {
  if ((length === PRESENT_COLUMNS || length === OLD_COLUMNS) && !/^\d+$/.test(first)) return length;
  throw badLine(
    line,
    `must name the columns of a search-terms report, ${PRESENT_COLUMNS} or, before 2022, ${OLD_COLUMNS}; it has ${length}`,
  );
}

/** Returns the last day of the week in line 1; null if line 1 has only the number of the week. */
function weekOf(record: readonly string[]): string | null {
  const line1 = record.join(',').replace(/^\uFEFF/, '');
  if ((line1.match(/=\s*\[/g) ?? []).length > MOST_FILTERS)
    throw badLine(1, 'the download was filtered; download the whole week without filters');
  const dates = [...line1.matchAll(/\d{4}-\d{2}-\d{2}|\d{1,2}\/\d{1,2}\/\d{2,4}/g)].map(([text]) =>
    dateOf(text),
  );
  const [first, last] = [dates[0], dates.at(-1)];
  if (!first || !last || dates.length < 2) return null;
  const days = (Date.parse(last) - Date.parse(first)) / 86_400_000 + 1;
  if (days !== 7) throw badLine(1, `the report covers ${days} days, not a week`);
  return last;
}

/** @throws ReportError unless the date is a Saturday and agrees with line 1. */
function checkWeek(date: string, weekOfLine1: string | null, line: number): string {
  if (!isSaturday(date))
    throw badLine(line, `the reporting date ${date} is not a Saturday, so this is not a weekly report`);
  if (weekOfLine1 !== null && weekOfLine1 !== date)
    throw badLine(line, `the reporting date is ${date}, but the week in line 1 ends on ${weekOfLine1}`);
  return date;
}
