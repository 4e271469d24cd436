import { Readable } from 'node:stream';
import Papa from 'papaparse';
import type { Column, TableShape } from '../../operations/tables/columns.ts';
import type { TableFormat } from '../../operations/tables/formats.ts';
import { stringifyJson } from '../../platform/json.ts';
import { groupsOf, type Rows } from './groups.ts';
import { parquetOf } from './parquet.ts';
import { xlsxOf } from './xlsx.ts';

export type { Rows };

/**
 * Writes rows as a stream. Rows are read as the stream is, a group at a time, and the event loop continues between groups: the
 * memory does not depend on the number of rows. An error of the rows destroys the stream, and the end of the stream ends the rows.
 */
export function writeTable(format: TableFormat, table: TableShape, rows: Rows): Readable {
  switch (format) {
    case 'csv':
      return streamOf(csvOf(table, rows));
    case 'ndjson':
      return streamOf(ndjsonOf(table, rows));
    case 'parquet':
      return streamOf(parquetOf(table, rows));
    case 'xlsx':
      return xlsxOf(table, rows);
  }
}

function streamOf(pieces: AsyncIterable<string | Uint8Array>): Readable {
  return Readable.from(pieces, { objectMode: false, highWaterMark: 1 });
}

async function* csvOf(table: TableShape, rows: Rows): AsyncGenerator<string> {
  const { columns } = table;
  // With the first rows, so that an error before them is answered as an error.
  let lines: unknown[][] = [columns.map(({ name }) => name)];
  for await (const group of groupsOf(rows, table)) {
    for (const row of group) lines.push(columns.map((column) => plainValue(column, row[column.name])));
    // Spreadsheets must not run a text as a formula; numbers stay numbers.
    if (lines.length > 0) yield `${Papa.unparse(lines, { newline: '\n', escapeFormulae: true })}\n`;
    lines = [];
  }
}

async function* ndjsonOf(table: TableShape, rows: Rows): AsyncGenerator<string> {
  const { columns } = table;
  for await (const group of groupsOf(rows, table)) {
    yield group
      .map((row) => {
        const line = Object.fromEntries(columns.map((one) => [one.name, plainValue(one, row[one.name])]));
        return `${stringifyJson(line)}\n`;
      })
      .join('');
  }
}

/** Returns a value as text formats show it: null without data, and times as ISO 8601. */
export function plainValue({ type }: Column, value: unknown): string | number | bigint | boolean | null {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return type === 'date' ? value.toISOString().slice(0, 10) : isoOf(value);
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isPlain || typeof value === 'bigint' ? value : stringifyJson(value);
}

function isoOf(time: Date): string {
  return time.toISOString().replace('.000Z', 'Z');
}
