import Table from 'cli-table3';
import Papa from 'papaparse';
import type { TableFormat } from '../generated/operations.ts';
import { stringifyJson } from '../json.ts';

export const FORMATS = ['table', 'json', 'csv'] as const;

export type Format = (typeof FORMATS)[number];

/** The forms of calls, whose answers can be files. */
export const CALL_FORMATS = [...FORMATS, 'ndjson', 'xlsx', 'parquet'] as const;

type Row = Record<string, unknown>;

/** Columns of a table that fit on a usual terminal. */
const MOST_COLUMNS = 8;
const LONGEST_CELL = 40;

/** Returns the data of a call as they are printed: the bytes of a file or a picture, or a text. */
export async function printed(data: unknown, format: Format | TableFormat): Promise<string | Uint8Array> {
  if (data instanceof File) return new Uint8Array(await data.arrayBuffer());
  return data instanceof Uint8Array ? data : formatted(data, format);
}

/** Writes data in a format. A table shows the longest list of objects in it, or its fields. */
export function formatted(data: unknown, format: Format | TableFormat): string {
  if (format === 'json') return `${JSON.stringify(JSON.parse(stringifyJson(data)), null, 2)}\n`;
  const rows = rowsOf(data);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (format === 'csv')
    return `${Papa.unparse({ fields: columns, data: rows.map((row) => columns.map((column) => cellOf(row[column]))) }, { newline: '\n' })}\n`;
  const shown = columns.slice(0, MOST_COLUMNS);
  const table = new Table({ head: shown, style: { head: [], border: [] } });
  for (const row of rows) table.push(shown.map((column) => cut(cellOf(row[column]))));
  return `${table.toString()}\n`;
}

function rowsOf(data: unknown): Row[] {
  if (data === null || typeof data !== 'object') return [{ value: data }];
  const lists = (Array.isArray(data) ? [data] : Object.values(data)).filter(isList);
  const [longest] = lists.sort((a, b) => b.length - a.length);
  return longest ?? Object.entries(data).map(([field, value]) => ({ field, value }));
}

function isList(value: unknown): value is Row[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((entry) => entry && typeof entry === 'object')
  );
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? stringifyJson(value) : `${value as string | number | bigint | boolean}`;
}

function cut(text: string): string {
  return text.length > LONGEST_CELL ? `${text.slice(0, LONGEST_CELL - 1)}…` : text;
}
