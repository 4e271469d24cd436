import type { Readable } from 'node:stream';
import Papa from 'papaparse';
import { isSaturday } from '../../keywords/report-week.ts';
import { dateOf, readOldRow, readPresentRow } from './csv-rows.ts';
import type { Report, ReportRow } from './report.ts';
import { badLine, ReportError } from './report-error.ts';

const PRESENT_COLUMNS = 21;
const OLD_COLUMNS = 15;

/** More brackets than range and week are filters: such a file holds a part of a week. */
const MOST_FILTERS = 2;

/**
 * Reads a file downloaded by hand. Line 1 tells what was asked for, line 2 names the columns, both in any language: the
 * layout is known by the number of columns, and each column by its place.
 */
export function readCsvReport(text: Readable): Report {
  let week: string | null = null;

  async function* rows(): AsyncGenerator<ReportRow[]> {
    let line = 0;
    let columns = 0;
    let weekOfLine1: string | null = null;
    for await (const { data, errors } of recordsOf(text)) {
      const batch: ReportRow[] = [];
      if (data.length === 0 && errors[0]) throw badLine(line + 1, errors[0].message);
      const faults = new Map(errors.map(({ row, message }) => [row, message]));
      for (const [index, record] of data.entries()) {
        line += 1;
        const at = line;
        // A field in quotes may hold line ends.
        for (const field of record) if (field.includes('\n')) line += field.split('\n').length - 1;
        const fault = faults.get(index);
        if (fault && at > 1) throw badLine(at, fault);
        if (record.at(-1)?.endsWith('\r')) record.push(record.pop()?.slice(0, -1) ?? '');
        if (at === 1) {
          weekOfLine1 = weekOf(record);
          continue;
        }
        if (columns === 0) {
          columns = columnsOf(record, at);
          continue;
        }
        if (record.length === 1 && record[0] === '') continue;
        if (record.length !== columns)
          throw badLine(at, `it has ${record.length} columns instead of ${columns}`);
        if (columns === OLD_COLUMNS) {
          batch.push(readOldRow(record, at));
          continue;
        }
        const { row, date } = readPresentRow(record, at);
        week ??= checkWeek(date, weekOfLine1, at);
        if (date !== week)
          throw badLine(at, `its reporting date is ${date}, that of the rows before ${week}`);
        batch.push(row);
      }
      if (batch.length > 0) yield batch;
    }
    if (columns === 0) throw new ReportError('The file has no line of column names.');
    week ??= weekOfLine1;
  }

  return { source: 'csv', batches: rows(), facts: () => ({ week, marketplaceIds: [] }) };
}

/** No record is longer; where quotes do not pair up, one would reach to the end of the file. */
const LONGEST_RECORD = 1_048_576;

/** The records of a CSV, some thousand at a time: the text is cut between records, and each piece is parsed by itself. */
async function* recordsOf(text: Readable): AsyncGenerator<Papa.ParseResult<string[]>> {
  let rest = '';
  for await (const chunk of text as AsyncIterable<string>) {
    rest += chunk;
    const end = lastRecordEnd(rest);
    if (end > 0) {
      yield Papa.parse<string[]>(rest.slice(0, end - 1), CSV);
      rest = rest.slice(end);
    }
    if (rest.length > LONGEST_RECORD) {
      yield { data: [], errors: [UNENDED], meta: {} as Papa.ParseMeta };
      return;
    }
  }
  if (rest !== '') yield Papa.parse<string[]>(rest, CSV);
}

const CSV: Papa.ParseConfig = { delimiter: ',', newline: '\n' };
const UNENDED = { type: 'Quotes', code: 'MissingQuotes', message: 'a quoted field has no end' } as const;

/** Where the last record that is complete ends: behind a line end with an even number of quotes before it. */
function lastRecordEnd(text: string): number {
  let quotes = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) quotes += 1;
  let from = text.length;
  for (let end = text.lastIndexOf('\n'); end >= 0; end = text.lastIndexOf('\n', end - 1)) {
    for (let at = text.indexOf('"', end); at >= 0 && at < from; at = text.indexOf('"', at + 1)) quotes -= 1;
    if (quotes % 2 === 0) return end + 1;
    if (end === 0) break;
    from = end;
  }
  return 0;
}

function columnsOf(record: readonly string[], line: number): number {
  const { length } = record;
  if ((length === PRESENT_COLUMNS || length === OLD_COLUMNS) && !/^\d+$/.test(record[0] ?? '')) return length;
  throw badLine(
    line,
    `it should name the columns of a search-terms report, ${PRESENT_COLUMNS} or, before 2022, ${OLD_COLUMNS} of them; it has ${length}`,
  );
}

/** The last day of the week that line 1 names; null where it has only the number of the week. */
function weekOf(record: readonly string[]): string | null {
  const line1 = record.join(',').replace(/^\uFEFF/, '');
  if ((line1.match(/=\s*\[/g) ?? []).length > MOST_FILTERS)
    throw badLine(1, 'the download was filtered, so it is not a whole week');
  const dates = [...line1.matchAll(/\d{4}-\d{2}-\d{2}|\d{1,2}\/\d{1,2}\/\d{2,4}/g)].map(([text]) =>
    dateOf(text),
  );
  const [first, last] = [dates[0], dates.at(-1)];
  if (!first || !last || dates.length < 2) return null;
  const days = (Date.parse(last) - Date.parse(first)) / 86_400_000 + 1;
  if (days !== 7) throw badLine(1, `the report covers ${days} days, not a week`);
  return last;
}

/** @throws ReportError unless it is a Saturday, the one of line 1. */
function checkWeek(date: string, weekOfLine1: string | null, line: number): string {
  if (!isSaturday(date))
    throw badLine(line, `its reporting date ${date} is no Saturday, so this is no weekly report`);
  if (weekOfLine1 !== null && weekOfLine1 !== date)
    throw badLine(line, `its reporting date is ${date}, but line 1 names the week to ${weekOfLine1}`);
  return date;
}
