import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { Column, ColumnType, TableShape } from '../../operations/tables/columns.ts';
import { stringifyJson } from '../../platform/json.ts';
import { groupsOf, type Rows } from './groups.ts';

/**
 * Values of a row group. The library encodes a group in one piece, so that larger groups block longer; smaller ones make the file
 * larger.
 */
const GROUP_VALUES = 32_768;

const TYPES: Record<ColumnType, Partial<SchemaElement>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  date: { type: 'INT32', converted_type: 'DATE' },
};

/** Yields a Parquet file. Its metadata have the meaning of each column, as JSON under the key `souk.columns`. */
export async function* parquetOf(table: TableShape, rows: Rows): AsyncGenerator<Uint8Array> {
  const { name, columns } = table;
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [
      { name: 'souk', num_children: columns.length },
      ...columns.map((one) => ({ name: one.name, repetition_type: 'OPTIONAL' as const, ...TYPES[one.type] })),
    ],
    kvMetadata: [
      { key: 'souk.table', value: name },
      { key: 'souk.columns', value: stringifyJson(columns) },
    ],
    createdBy: 'Souk',
  });
  for await (const group of groupsOf(rows, table, GROUP_VALUES)) {
    const columnData = columns.map((column) => ({
      name: column.name,
      data: group.map((row) => cellOf(column, row[column.name])),
    }));
    await file.write({ columnData, rowGroupSize: group.length });
    yield taken(writer);
  }
  await file.finish();
  yield taken(writer);
}

/** Returns what the writer has, and empties it. The writer goes on counting its offset. */
function taken(writer: ByteWriter): Uint8Array {
  const bytes = writer.getBytes().slice();
  writer.index = 0;
  return bytes;
}

/** Returns a value of the column's type; null without data, and for a value that the type cannot have. */
function cellOf({ type }: Column, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      return integerOf(value);
    case 'number':
      return Number.isFinite(Number(value)) ? Number(value) : null;
    case 'boolean':
      return value === true;
    case 'time':
    case 'date':
      return timeOf(value);
    case 'text':
      return typeof value === 'string' ? value : stringifyJson(value);
  }
}

function integerOf(value: unknown): bigint | null {
  if (typeof value === 'bigint') return value;
  const whole = Number(value);
  return Number.isSafeInteger(whole) ? BigInt(whole) : null;
}

/** Returns the time of an ISO 8601 text or date; null if it is none. */
export function timeOf(value: unknown): Date | null {
  if (!(value instanceof Date) && !/^\d{4}-/.test(String(value))) return null;
  const time = value instanceof Date ? value : new Date(String(value));
  return Number.isNaN(time.getTime()) ? null : time;
}
