import { z } from 'zod';

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

/**
 * Returns columns that are fields of a record of an answer, with the types and meanings of its schema.
 * @param meanings of fields whose schema has none.
 */
export function columnsOf(
  record: z.ZodObject,
  names: readonly string[],
  meanings: Readonly<Record<string, string>> = {},
): readonly Column[] {
  return names.map((name) => {
    const schema = record.shape[name];
    const meaning = meanings[name] ?? (schema && meaningOf(schema));
    if (!schema || meaning === undefined) throw new Error(`the column ${name} has no meaning`);
    return { name, type: typeOf(schema), meaning };
  });
}

function meaningOf(schema: z.core.$ZodType): string | undefined {
  const { description } = z.globalRegistry.get(schema) ?? {};
  return description ?? (isWrapper(schema) ? meaningOf(schema.unwrap()) : undefined);
}

function typeOf(schema: z.core.$ZodType): ColumnType {
  if (isWrapper(schema)) return typeOf(schema.unwrap());
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodNumberFormat || z.globalRegistry.get(schema)?.type === 'integer')
    return 'integer';
  if (schema instanceof z.ZodNumber) return 'number';
  if (schema instanceof z.ZodISODateTime) return 'time';
  return schema instanceof z.ZodISODate ? 'date' : 'text';
}

function isWrapper(schema: z.core.$ZodType): schema is z.ZodOptional | z.ZodNullable {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
}
