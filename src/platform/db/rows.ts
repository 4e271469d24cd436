import type { QueryConfig, QueryResultRow } from 'pg';
import type { Queryable } from './pool.ts';

type Statement = [query: string | QueryConfig, values?: unknown[]];

/** The smallest UUID: the rows after it, in the order of their ids, are all rows. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

/** Returns the rows of a statement. */
export async function allRows<Row extends QueryResultRow>(
  database: Queryable,
  ...statement: Statement
): Promise<Row[]> {
  const { rows } = await database.query<Row>(...statement);
  return rows;
}

/** Returns the first row of a statement; null if it has none. */
export async function firstRow<Row extends QueryResultRow>(
  database: Queryable,
  ...statement: Statement
): Promise<Row | null> {
  const [row = null] = await allRows<Row>(database, ...statement);
  return row;
}

/** Returns the row of a statement that returns one. @throws if it returned none. */
export async function onlyRow<Row extends QueryResultRow>(
  database: Queryable,
  ...statement: Statement
): Promise<Row> {
  return only(await allRows<Row>(database, ...statement));
}

/** Returns whether a statement has found or changed a row. */
export async function hasRow(database: Queryable, ...statement: Statement): Promise<boolean> {
  const { rowCount } = await database.query(...statement);
  return rowCount !== 0;
}

/** Returns the row of a statement that returns one. @throws if it returned none. */
export function only<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (!row) throw new Error('expected a row, got none');
  return row;
}

/**
 * SQL of a timestamp column as Unix milliseconds. Queries name their columns like the fields of their row type, so
 * rows need no mapping.
 */
export function unixMs(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::bigint`;
}
