import { isDate } from '../../operations/brand-analytics/keywords/report-week.ts';
import { asinToNumber } from '../asin-number.ts';
import { type ReportProduct, type ReportRow, shareOf } from './report.ts';
import { badLine } from './report-error.ts';

const ASIN = /^[A-Z0-9]{10}$/;

/** Columns: rank, term, three brands, three categories, three products, date. */
export function readPresentRow(record: readonly string[], line: number): { row: ReportRow; date: string } {
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
export function readOldRow(record: readonly string[], line: number): ReportRow {
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
export function dateOf(text: string): string | null {
  if (isDate(text)) return text;
  const [, month = '', day = '', year = ''] = /^(\d{1,2})\/(\d{1,2})\/(\d{2}|\d{4})$/.exec(text) ?? [];
  const date = `${year.padStart(4, '20')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return isDate(date) ? date : null;
}
