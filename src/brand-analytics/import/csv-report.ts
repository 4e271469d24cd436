import { Readable } from 'node:stream';
import Papa from 'papaparse';
import { isSaturday } from '../../operations/brand-analytics/keywords.ts';
import { isDate } from '../../platform/calendar.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { asinToNumber } from '../asin-number.ts';
import {
  badLine,
  NotUtf8,
  type Report,
  type ReportBatch,
  ReportError,
  type ReportProduct,
  type ReportRow,
  shareOf,
  utf8Pieces,
} from './report.ts';

const ASIN = /^[A-Z0-9]{10}$/;

/** Columns: rank, term, three brands, three categories, three products, date. */
function readPresentRow(record: readonly string[], line: number): { row: ReportRow; date: string } {
  const date = reportingDateOf(record[20] ?? '');
  if (date === null) throw badLine(line, `the reporting date "${record[20] ?? ''}" is not a date`);
  return {
    date,
    row: {
      at: line,
      department: '',
      rank: rankOf(record[0] ?? '', line),
      term: record[1] ?? '',
      brands: record.slice(2, 5),
      categories: record.slice(5, 8),
      products: [productAt(record, 8, line), productAt(record, 12, line), productAt(record, 16, line)],
    },
  };
}

/** All rows of a file have the same reporting date, so the last result is nearly always the next one. */
let lastRead: { text: string; date: string | null } = { text: '', date: null };

function reportingDateOf(text: string): string | null {
  if (text !== lastRead.text) lastRead = { text, date: dateOf(text) };
  return lastRead.date;
}

/** Columns: department, term, rank, three products. */
function readOldRow(record: readonly string[], line: number): ReportRow {
  return {
    at: line,
    department: record[0] ?? '',
    term: record[1] ?? '',
    rank: rankOf(record[2] ?? '', line),
    brands: [],
    categories: [],
    products: [productAt(record, 3, line), productAt(record, 7, line), productAt(record, 11, line)],
  };
}

function rankOf(text: string, line: number): number {
  const rank = /^[\d,]+$/.test(text) ? Number(text.replaceAll(',', '')) : 0;
  if (rank >= 1 && rank <= 2_000_000_000) return rank;
  throw badLine(line, `the rank "${text}" is not a positive integer`);
}

function productAt(record: readonly string[], column: number, line: number): ReportProduct | undefined {
  const asin = record[column] ?? '';
  if (asin === '') return undefined;
  if (!ASIN.test(asin)) throw badLine(line, `column ${column + 1}: "${asin}" is not an ASIN`);
  return {
    asin: asinToNumber(asin),
    title: record[column + 1] ?? '',
    click: shareAt(record, column + 2, line),
    conversion: shareAt(record, column + 3, line),
  };
}

function shareAt(record: readonly string[], column: number, line: number): number {
  const text = record[column] ?? '';
  const hundredths = shareOf(text);
  if (hundredths !== null) return hundredths;
  throw badLine(line, `column ${column + 1}: "${text}" is not a share from 0 to 100`);
}

/** Reads YYYY-MM-DD, or 4/11/2026 as spreadsheets write it. Null for other texts. */
function dateOf(text: string): string | null {
  if (isDate(text)) return text;
  const [, month = '', day = '', year = ''] = /^(\d{1,2})\/(\d{1,2})\/(\d{2}|\d{4})$/.exec(text) ?? [];
  const date = `${year.padStart(4, '20')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return isDate(date) ? date : null;
}

const PRESENT_COLUMNS = 21;
const OLD_COLUMNS = 15;

const CSV: Papa.ParseConfig = { delimiter: ',', newline: '\n' };

/** The limit of a record. Without it, a record with an unpaired quote would extend to the end of the file. */
const LONGEST_RECORD = 1_048_576;

/** The range and the week are filters, too. A file with more filters contains only a part of a week. */
const MOST_FILTERS = 2;

/**
 * Reads a file that was downloaded by hand. Line 1 describes the request and line 2 names the columns, both in any
 * language. So the number of columns determines the layout, and its position determines each column.
 */
export function readCsvReport(file: Readable): Report {
  let week: string | null = null;

  async function* batches(): AsyncGenerator<ReportBatch> {
    const { line1, rest } = await withoutLine1(file);
    week = weekOf(line1);
    const weekOfLine1 = week;
    let columns: number | undefined;
    let dated: string | undefined;
    for await (const records of recordsOf(rest)) {
      const rows: ReportRow[] = [];
      for (const record of records) {
        const { fields, line } = record;
        try {
          if (record.fault) throw badLine(line, record.fault);
          if (columns === undefined) {
            columns = columnsOf(fields, line);
            continue;
          }
          if (fields.length === 1 && fields[0] === '') continue;
          if (fields.length !== columns)
            throw badLine(line, `expected ${columns} columns, got ${fields.length}`);
          if (columns === OLD_COLUMNS) {
            rows.push(readOldRow(fields, line));
            continue;
          }
          const { row, date } = readPresentRow(fields, line);
          dated ??= checkWeek(date, weekOfLine1, line);
          if (date !== dated)
            throw badLine(line, `the reporting date is ${date}, but ${dated} in the rows before`);
          rows.push(row);
        } catch (error) {
          // The rows before it may have a fault that only the whole report shows.
          yield rows;
          throw error;
        }
      }
      yield rows;
    }
    if (columns === undefined) throw new ReportError('The file has no line with column names.');
    week ??= dated ?? null;
  }

  return { source: 'csv', batches: batches(), facts: () => ({ week, marketplaceIds: [] }) };
}

/** A record, the line on which it starts, and its CSV error, if any. */
interface CsvRecord {
  fields: string[];
  line: number;
  fault: string | undefined;
}

/** Cuts off line 1, which is not always valid CSV. */
async function withoutLine1(file: Readable): Promise<{ line1: string; rest: AsyncIterator<string> }> {
  const pieces = utf8Pieces(file);
  let text = '';
  while (!text.includes('\n')) {
    if (text.length > LONGEST_RECORD) throw badLine(1, 'longer than 1 MiB');
    const { value, done } = await pieces.next().catch((error: unknown) => {
      throw error instanceof NotUtf8 ? notUtf8(1) : error;
    });
    if (done) throw new ReportError('The file has no line with column names.');
    text += value.toString();
  }
  async function* rest(): AsyncGenerator<string> {
    try {
      yield text.slice(text.indexOf('\n') + 1);
      for await (const piece of pieces) yield piece.toString();
    } finally {
      // Also closes a file of which no second piece was read.
      await pieces.return(undefined);
    }
  }
  return { line1: text.slice(0, text.indexOf('\n')), rest: rest() };
}

/** Parses the records from line 2 on, some hundred at a time. @throws ReportError */
async function* recordsOf(texts: AsyncIterator<string>): AsyncGenerator<CsvRecord[]> {
  let line = 2;
  let received = 0;
  let parsed = 0;
  async function next(): Promise<string | null> {
    if (received - parsed > LONGEST_RECORD) throw badLine(line, 'a quoted field is not closed');
    const { value, done } = await texts.next();
    if (done) return null;
    received += value.length;
    return value;
  }
  try {
    for await (const { data, errors, meta } of resultsOf(next)) {
      parsed = meta.cursor;
      const faults = new Map(errors.map(({ row, message }) => [row, message]));
      const records: CsvRecord[] = [];
      for (const [i, fields] of data.entries()) {
        records.push({ fields, line, fault: faults.get(i) });
        line += 1;
        for (const field of fields) if (field.includes('\n')) line += field.split('\n').length - 1;
        if (fields.at(-1)?.endsWith('\r')) fields.push(fields.pop()?.slice(0, -1) ?? '');
      }
      yield records;
    }
  } catch (error) {
    throw error instanceof NotUtf8 ? notUtf8(line) : error;
  } finally {
    await texts.return?.();
  }
}

/**
 * Returns what papaparse calls its callback with. A text is requested when a reader has taken the results of the one before:
 * papaparse itself would read the whole file into memory while its parser is paused.
 */
function resultsOf(next: () => Promise<string | null>): ReadableStream<Papa.ParseResult<string[]>> {
  const texts = new Readable({ objectMode: true, read() {} });
  return new ReadableStream<Papa.ParseResult<string[]>>(
    {
      start(controller) {
        Papa.parse<string[]>(texts, {
          ...CSV,
          chunk: (results) => controller.enqueue(results),
          complete: () => controller.close(),
          error: (error: Error) => controller.error(error),
        });
      },
      async pull() {
        texts.push(await next());
      },
      cancel: () => void texts.destroy(),
    },
    { highWaterMark: 0 },
  );
}

function notUtf8(line: number): ReportError {
  return badLine(line, 'the text is not UTF-8');
}

function columnsOf({ length, 0: first = '' }: readonly string[], line: number): number {
  if ((length === PRESENT_COLUMNS || length === OLD_COLUMNS) && !/^\d+$/.test(first)) return length;
  throw badLine(
    line,
    `must name the columns of a search-terms report, ${PRESENT_COLUMNS} or, before 2022, ${OLD_COLUMNS}; it has ${length}`,
  );
}

/** Returns the last day of the week in line 1; null if line 1 has only the number of the week. */
function weekOf(line1: string): string | null {
  const text = line1.replace(/^\uFEFF/, '');
  if ((text.match(/=\s*\[/g) ?? []).length > MOST_FILTERS)
    throw badLine(1, 'the download was filtered; download the whole week without filters');
  const dates = [...text.matchAll(/\d{4}-\d{2}-\d{2}|\d{1,2}\/\d{1,2}\/\d{2,4}/g)].map(([date]) =>
    dateOf(date),
  );
  const [first, last] = [dates[0], dates.at(-1)];
  if (!first || !last || dates.length < 2) return null;
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
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
