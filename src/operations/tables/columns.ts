/**
 * The types of the values of a column. Times are ISO 8601 texts or dates; integers may be bigints; a date is YYYY-MM-DD. In every
 * column, null or undefined means that there are no data.
 */
export const COLUMN_TYPES = ['text', 'integer', 'number', 'boolean', 'time', 'date'] as const;

export type ColumnType = (typeof COLUMN_TYPES)[number];

/** A column of a table: what a customer needs to read its values. */
export interface Column {
  name: string;
  type: ColumnType;
  /** What the values mean, with their unit. */
  meaning: string;
}

/** A row: its values by the names of the columns. Other fields are ignored. */
export type Row = Readonly<Record<string, unknown>>;

/** The names of a table and its columns, without rows. */
export interface TableShape {
  /** Such as `history`. */
  name: string;
  columns: readonly Column[];
}

/** Returns columns from their types and meanings by name. */
export function columnsFrom(
  declared: Readonly<Record<string, readonly [type: ColumnType, meaning: string]>>,
): readonly Column[] {
  return Object.entries(declared).map(([name, [type, meaning]]) => ({ name, type, meaning }));
}
