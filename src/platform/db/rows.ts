/** The smallest UUID: the rows after it, in the order of their ids, are all rows. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

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
