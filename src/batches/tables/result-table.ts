import type { QueuedOperation } from '../../operations/define.ts';
import { existingOperation } from '../../operations/index.ts';
import { parseStored } from '../../operations/params/answer-form.ts';
import { columnsFrom, type Row, type TableShape } from '../../operations/tables/columns.ts';
import type { TableFormat } from '../../operations/tables/formats.ts';
import { parseJson } from '../../platform/json.ts';
import { gunzip } from '../../results/compression.ts';

/** A table of the results of a batch, or of the answer of a job. */
export interface ResultTable {
  of: 'batch' | 'job';
  operation: string;
  /** The name of the table. */
  table: string;
  format: TableFormat;
  /** The canonical input of the first call. It determines the columns. */
  input: string;
}

/** The results of a call: its canonical input, and its lines (NDJSON, gzip): one for each item, or the envelope of the answer. */
export interface CallLines {
  input: string;
  lines: Uint8Array;
  /** When the call ended, Unix milliseconds. */
  at: number;
}

export const INDEX = columnsFrom({ index: ['integer', 'Index of the item in the batch, from 0'] });

/** Returns the table: its columns are those of the operation, in a batch after the index of the item. */
export function shapeOf({ of: source, operation, table, input }: ResultTable): TableShape {
  const of = existingOperation(operation);
  const columns = of.tables?.[table]?.columns(parseStored(of, parseJson(input))) ?? [];
  return { name: table, columns: source === 'batch' ? [...INDEX, ...columns] : columns };
}

/** Yields the rows of results. Items that failed have none. */
export async function* rowsOf(
  { operation, table }: ResultTable,
  calls: AsyncIterable<CallLines>,
): AsyncGenerator<Row> {
  const of = existingOperation(operation);
  for await (const { input, lines, at } of calls) {
    const parsed = parseStored(of, parseJson(input));
    for (const line of linesOf(await gunzip(lines))) yield* rowsOfLine(of, table, parsed, { line, at });
  }
}

/** Yields the rows of a result. @param result its line of NDJSON, and when its call ended, if that is known. */
export function* rowsOfLine(
  { tables }: QueuedOperation,
  table: string,
  input: unknown,
  { line, at }: { line: string; at?: number },
): Generator<Row> {
  const { index, data } = parseJson(line) as { index: number; data?: Record<string, unknown> };
  if (!data) return;
  for (const row of tables?.[table]?.rows(data, input, at) ?? []) yield { index, ...row };
}

function* linesOf(text: Buffer): Generator<string> {
  let from = 0;
  while (from < text.length) {
    const end = text.indexOf(10, from);
    const to = end === -1 ? text.length : end;
    if (to > from) yield text.toString('utf8', from, to);
    from = to + 1;
  }
}
