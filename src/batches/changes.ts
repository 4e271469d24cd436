import type { ClientBase } from 'pg';
import type { QueuedOperation } from '../operations/define.ts';
import { columnsFrom, type Row, type TableShape } from '../operations/tables/columns.ts';
import { namedTable, tablesMade } from '../operations/tables/tables.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { parseJson, stringifyJson } from '../platform/json.ts';
import { gunzip, gzip } from '../results/compression.ts';
import { type ItemResult, itemHash, VOLATILE_FIELDS } from './results.ts';

/** Rows of an item with more JSON than this are not kept, and so not compared with the next ones. */
const MOST_JSON = 262_144;

/** The most changed values of a call. */
const MOST_CHANGES = 5_000;

/** What has changed in a run since the one before: one row for each changed value. */
export const CHANGES_TABLE: TableShape = {
  name: 'changes',
  columns: columnsFrom({
    index: ['integer', 'Index of the item in the batch'],
    key: ['text', 'The row that has changed, such as an ASIN or a search term'],
    column: ['text', 'Column whose value has changed'],
    before: ['text', 'Value in the previous run; empty if the row or the value was not there'],
    after: ['text', 'Value in this run; empty if the row or the value is not there any more'],
  }),
};

/** The rows of items, by the digest of the item in hex. */
type RowsOfItems = Map<string, readonly Row[]>;

const nameOf = (raw: unknown) => itemHash(raw).toString('hex');

/** Returns the rows that items had in the last run of a schedule; items without comparable rows are absent. */
export async function rowsBefore(
  client: ClientBase,
  scheduleId: string,
  results: readonly ItemResult[],
): Promise<RowsOfItems> {
  const { rows } = await client.query<{ hash: Buffer; rows: Buffer }>(
    `select item_hash as hash, rows from schedule_contents
     where schedule_id = $1 and item_hash = any($2::bytea[]) and rows is not null`,
    [scheduleId, results.map(({ raw }) => itemHash(raw))],
  );
  const before: RowsOfItems = new Map();
  for (const { hash, rows: stored } of rows)
    before.set(hash.toString('hex'), parseJson((await gunzip(stored)).toString()) as Row[]);
  return before;
}

/**
 * Stores the rows of changed items for the next run, and compares them with those of the run before.
 * @returns gzip of NDJSON with the rows of CHANGES_TABLE; null if the results form no table.
 */
export async function storeRows(
  client: ClientBase,
  scheduleId: string,
  { operation, input }: { operation: QueuedOperation; input: unknown },
  changed: readonly ItemResult[],
  before: RowsOfItems,
): Promise<Buffer | null> {
  const [name] = tablesMade(operation, input);
  if (name === undefined) return null;
  const table = namedTable(operation, { ...(input as object), table: name });
  const columns = table.columns.map((column) => column.name).filter((one) => !VOLATILE_FIELDS.has(one));
  const lines: string[] = [];
  const stored: { hash: Buffer; rows: Buffer | null }[] = [];
  for (const { index, raw, data } of changed) {
    const all = [...table.rows(data)];
    const rows = all.map((row) => Object.fromEntries(columns.map((one) => [one, row[one] ?? null])));
    const json = stringifyJson(rows);
    const isKept = json.length <= MOST_JSON;
    stored.push({ hash: itemHash(raw), rows: isKept ? await gzip(json) : null });
    const earlier = before.get(nameOf(raw));
    if (!earlier || !isKept) continue;
    for (const change of changesBetween(columns, earlier, rows)) {
      if (lines.length === MOST_CHANGES) break;
      lines.push(stringifyJson({ index, ...change }));
    }
  }
  await client.query(
    `update schedule_contents s set rows = n.rows from unnest($2::bytea[], $3::bytea[]) as n (hash, rows)
     where s.schedule_id = $1 and s.item_hash = n.hash`,
    [scheduleId, stored.map(({ hash }) => hash), stored.map(({ rows }) => rows)],
  );
  return gzip(lines.map((line) => `${line}\n`).join(''));
}

/** Compares rows by their keys. A row that is only in one of the lists has a change for each of its values. */
export function* changesBetween(
  columns: readonly string[],
  before: readonly Row[],
  after: readonly Row[],
): Generator<{ key: string; column: string; before: unknown; after: unknown }> {
  const keyOf = keyFrom(columns, before, after);
  const earlier = new Map(before.map((row, i) => [keyOf(row, i), row]));
  const later = new Map(after.map((row, i) => [keyOf(row, i), row]));
  for (const key of new Set([...earlier.keys(), ...later.keys()])) {
    const [was, is] = [earlier.get(key), later.get(key)];
    for (const column of columns) {
      const change = { key, column, before: was?.[column] ?? null, after: is?.[column] ?? null };
      if (stringifyJson(change.before) !== stringifyJson(change.after)) yield change;
    }
  }
}

/** Columns that do not name a row. */
const COMMON = new Set(['country', 'domainId', 'reportDate', 'week']);

/** Returns a function that names rows: by the first column whose values differ in all rows of both lists; otherwise by position. */
function keyFrom(
  columns: readonly string[],
  before: readonly Row[],
  after: readonly Row[],
): (row: Row, place: number) => string {
  const isKey = (column: string) =>
    !COMMON.has(column) &&
    [before, after].every((rows) => {
      const names = rows.map((row) => row[column]);
      return names.every((name) => typeof name === 'string') && new Set(names).size === rows.length;
    });
  // In lists of one row every column has different values. The key of one that goes on is the same in both.
  const isOne = before.length === 1 && after.length === 1;
  const column = columns.find((name) => isKey(name) && (!isOne || before[0]?.[name] === after[0]?.[name]));
  return column === undefined ? (_row, place) => String(place + 1) : (row) => String(row[column]);
}

/** Yields what has changed in a batch, in the order of the items. */
export async function* changesOf(database: Queryable, batchId: string): AsyncGenerator<Row> {
  for (let place = -1; ; ) {
    const { rows } = await database.query<{ firstItem: number; changes: Buffer }>({
      name: 'batch-changes',
      text: `select first_item as "firstItem", changes from batch_calls
        where batch_id = $1 and first_item > $2 and changes is not null order by first_item limit 1`,
      values: [batchId, place],
    });
    const [row] = rows;
    if (!row) return;
    place = row.firstItem;
    for (const line of (await gunzip(row.changes)).toString().split('\n'))
      if (line !== '') yield parseJson(line) as Row;
  }
}

/** Returns the first changes of a batch. */
export async function firstChanges(database: Queryable, batchId: string, most: number): Promise<Row[]> {
  const first: Row[] = [];
  for await (const change of changesOf(database, batchId)) {
    first.push(change);
    if (first.length === most) break;
  }
  return first;
}
