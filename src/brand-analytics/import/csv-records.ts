import { isUtf8 } from 'node:buffer';
import Papa from 'papaparse';
import type { CsvPiece } from './csv-pieces.ts';
import { readOldRow, readPresentRow } from './csv-rows.ts';
import { decode } from './decode.ts';
import type { ReportBatch, ReportRow } from './report.ts';
import { badLine, ReportError } from './report-error.ts';

export const PRESENT_COLUMNS = 21;
export const OLD_COLUMNS = 15;

const CSV: Papa.ParseConfig = { delimiter: ',', newline: '\n' };

/** A record, the line on which it starts, and its CSV error, if any. */
export interface CsvRecord {
  fields: string[];
  line: number;
  fault: string | undefined;
}

/** @throws ReportError if the piece is not UTF-8. */
export function* recordsOf({ bytes, line, lineEnds }: CsvPiece): Generator<CsvRecord> {
  const text = decode(bytes);
  if (text === null) throw notUtf8(bytes, line);
  const { data, errors } = Papa.parse<string[]>(text, CSV);
  const faults = errors.length > 0 ? new Map(errors.map(({ row, message }) => [row, message])) : undefined;
  // A quoted field may contain line ends, but few pieces have such a field.
  const isLineEach = lineEnds === data.length - 1;
  let next = line;
  for (let i = 0; i < data.length; i += 1) {
    const fields = data[i] ?? [];
    const at = next;
    next += 1;
    if (!isLineEach)
      for (const field of fields) if (field.includes('\n')) next += field.split('\n').length - 1;
    if (fields.at(-1)?.endsWith('\r')) fields.push(fields.pop()?.slice(0, -1) ?? '');
    yield { fields, line: at, fault: faults?.get(i) };
  }
}

function notUtf8(bytes: Uint8Array, line: number): ReportError {
  let at = line;
  let from = 0;
  for (let end = bytes.indexOf(LINE_END); end >= 0; end = bytes.indexOf(LINE_END, from)) {
    if (!isUtf8(bytes.subarray(from, end))) break;
    from = end + 1;
    at += 1;
  }
  return badLine(at, 'the text is not UTF-8');
}

const LINE_END = 0x0a;

/**
 * Returns the rows of a piece without a head, up to the first invalid one. @param columns number of columns of the
 * layout.
 */
export function readCsvPiece(piece: CsvPiece, columns: number): ReportBatch {
  const rows: ReportRow[] = [];
  let dated: ReportBatch['dated'] = null;
  try {
    for (const { fields, line, fault } of recordsOf(piece)) {
      if (fault) throw badLine(line, fault);
      if (fields.length === 1 && fields[0] === '') continue;
      if (fields.length !== columns) throw badLine(line, `expected ${columns} columns, got ${fields.length}`);
      if (columns === OLD_COLUMNS) {
        rows.push(readOldRow(fields, line));
        continue;
      }
      const { row, date } = readPresentRow(fields, line);
      dated ??= { date, at: line };
      if (date !== dated.date) throw otherDate(date, dated.date, line);
      rows.push(row);
    }
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    return { rows, dated, fault: error.message };
  }
  return { rows, dated, fault: null };
}

export function otherDate(date: string, before: string, line: number): ReportError {
  return badLine(line, `the reporting date is ${date}, but ${before} in the rows before`);
}
