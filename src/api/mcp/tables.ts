import { isRecord } from '../../operations/params/request.ts';
import { stringifyJson } from '../../platform/json.ts';

// Lists of records as an agent reads them: one header, and the values of each record in its order, in about half of the tokens.

/** The fewest records that become a table. */
const FEWEST = 4;

/** A table may be at most this part of the length of its list. */
const WORTHWHILE = 0.9;

/** A column by its dotted name, or a column of lists, whose entries have columns themselves. */
type Column = string | Readonly<Record<string, readonly Column[]>>;

interface Reader {
  column: Column;
  /** Returns the cell of a record. */
  cell(record: Row): unknown;
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Returns the data with every list of similar records as `{columns, rows}` where that is shorter. Objects within records become
 * columns with dotted names, and lists of records within them rows of `{"name": [columns]}`.
 */
export function compactTables(data: unknown): unknown {
  if (Array.isArray(data)) return tableOf(data) ?? data.map(compactTables);
  if (!isRecord(data) || isTable(data)) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, compactTables(value)]));
}

function isTable({ columns, rows }: Row): boolean {
  return Array.isArray(columns) && Array.isArray(rows);
}

function tableOf(list: readonly unknown[]): unknown {
  if (list.length < FEWEST || !list.every(isRecord)) return null;
  const readers = readersOf(list);
  if (!readers) return null;
  const table = {
    columns: readers.map(({ column }) => column),
    rows: list.map((record) => cellsOf(record, readers)),
  };
  return stringifyJson(table).length <= WORTHWHILE * stringifyJson(list).length ? table : null;
}

function cellsOf(record: Row, readers: readonly Reader[]): unknown[] {
  return readers.map(({ cell }) => cell(record));
}

/** Returns the columns of records; null if their fields differ too much. */
function readersOf(records: readonly Row[]): readonly Reader[] | null {
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  const mean = records.reduce((sum, record) => sum + Object.keys(record).length, 0) / records.length;
  if (names.size === 0 || names.size > 1.5 * mean + 1) return null;
  return [...names].flatMap((name) => readersOfField(name, records));
}

function readersOfField(name: string, records: readonly Row[]): readonly Reader[] {
  const values = records
    .map((record) => record[name])
    .filter((value) => value !== null && value !== undefined);
  const inner = values.length > 0 && values.every(isRecord) ? readersOf(values) : null;
  if (inner) {
    return inner.map(({ column, cell }) => ({
      column: typeof column === 'string' ? `${name}.${column}` : prefixed(name, column),
      cell: (record) => (isRecord(record[name]) ? cell(record[name]) : null),
    }));
  }
  const entries = values.every(Array.isArray) ? values.flat() : [];
  const columns = entries.length > 0 && entries.every(isRecord) ? readersOf(entries) : null;
  if (columns) {
    return [
      {
        column: { [name]: columns.map(({ column }) => column) },
        cell: (record) =>
          (record[name] as Row[] | null | undefined)?.map((entry) => cellsOf(entry, columns)) ?? null,
      },
    ];
  }
  return [{ column: name, cell: (record) => compactTables(record[name] ?? null) }];
}

function prefixed(name: string, column: Exclude<Column, string>): Column {
  return Object.fromEntries(Object.entries(column).map(([inner, columns]) => [`${name}.${inner}`, columns]));
}
