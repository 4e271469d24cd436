import { Readable } from 'node:stream';
import Papa from 'papaparse';
import { isSaturday } from '../../operations/brand-analytics/keywords/report-week.ts';
import { dateOf, readOldRow, readPresentRow } from './csv-rows.ts';
import type { Report, ReportBatch, ReportRow } from './report.ts';
import { badLine, ReportError } from './report-error.ts';
import { NotUtf8, utf8Pieces } from './utf8.ts';

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
async function withoutLine1(file: Readable): Promise<{ line1: string; rest: AsyncIterable<string> }> {
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
    yield text.slice(text.indexOf('\n') + 1);
    for await (const piece of pieces) yield piece.toString();
  }
  return { line1: text.slice(0, text.indexOf('\n')), rest: rest() };
}

/** Parses the records from line 2 on, some hundred at a time. @throws ReportError */
async function* recordsOf(texts: AsyncIterable<string>): AsyncGenerator<CsvRecord[]> {
  let line = 2;
  let received = 0;
  let parsed = 0;
  async function* limited(): AsyncGenerator<string> {
    for await (const text of texts) {
      if (received - parsed > LONGEST_RECORD) throw badLine(line, 'a quoted field is not closed');
      received += text.length;
      yield text;
    }
  }
  try {
    for await (const { data, errors, meta } of resultsOf(Readable.from(limited(), { highWaterMark: 1 }))) {
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
  }
}

/** Returns what papaparse calls its callback with, at the speed of the reader. */
function resultsOf(texts: Readable): ReadableStream<Papa.ParseResult<string[]>> {
  let resume = () => {};
  return new ReadableStream<Papa.ParseResult<string[]>>(
    {
      start(controller) {
        Papa.parse<string[]>(texts, {
          ...CSV,
          chunk(results, parser) {
            controller.enqueue(results);
            parser.pause();
            resume = () => parser.resume();
          },
          complete: () => controller.close(),
          error: (error: Error) => controller.error(error),
        });
      },
      pull: () => resume(),
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
