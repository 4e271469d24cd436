import type { ParameterFault } from '../../platform/errors.ts';
import type { QueuedOperation } from '../define.ts';
import { didYouMean } from '../faults.ts';
import { formOf } from '../params/answer-form.ts';
import { got } from '../params/scalars.ts';
import type { Column, Row, TableShape } from './columns.ts';

/** A table of an answer. */
export interface Table<Input> {
  columns(input: Input): readonly Column[];
  /** @param at when the answer was made, Unix milliseconds; absent if that is not known. */
  rows(data: Record<string, unknown>, input: Input, at?: number): Iterable<Row>;
  /** Returns the parameter that an answer needs for this table, and that the input lacks; null without one. */
  needs?(input: Input): string | null;
  /** Returns the parameter that asks for something that only other tables have, so that the table must be named. */
  lacks?(input: Input): string | null;
}

/** The tables of an operation by name. The first one whose needs are met is the default. */
export type Tables<Input> = Readonly<Record<string, Table<Input>>>;

/** A table that was chosen for an input. */
export interface ChosenTable extends TableShape {
  rows(data: Record<string, unknown>, at?: number): Iterable<Row>;
}

/** Returns the table that an input names in its form. @throws Error if it has none. */
export function namedTable(operation: QueuedOperation, input: unknown): ChosenTable {
  const { table: name = '' } = formOf(input);
  const table = operation.tables?.[name];
  if (!table) throw new Error(`${operation.name} has no table ${name}`);
  return { name, columns: table.columns(input), rows: (data, at) => table.rows(data, input, at) };
}

/**
 * Returns the name of the table of an answer, or why there is none.
 * @param wanted a name; default: the operation chooses. @param madeAs what `format` must be for an answer that was made without a
 * table, such as json; default: it is not made yet.
 */
export function chooseTable(
  operation: Pick<QueuedOperation, 'name' | 'tables'>,
  input: unknown,
  wanted?: string,
  madeAs?: string,
): { name: string } | { fault: ParameterFault } {
  const { name: of, tables } = operation;
  const whole = madeAs ?? 'json';
  if (!tables) return fault('format', `must be ${whole}: the answers of ${of} have no rows`);
  const { fields } = formOf(input);
  if (fields)
    return fault('format', `must be ${whole}, because of fields: the columns of a table are constant`);
  const names = Object.keys(tables);
  const needsOf = (one: string) =>
    tables[one]?.needs?.(madeAs ? input : { ...(input as object), table: one }) ?? null;
  const name = wanted ?? names.find((one) => needsOf(one) === null) ?? names[0] ?? '';
  if (!Object.hasOwn(tables, name))
    return fault(
      'table',
      `${got(`must be ${listed(names)}, the tables of ${of}`, name)}${didYouMean(name, names)}`,
    );
  const needed = needsOf(name);
  if (needed !== null) return fault('table', `${name} needs ${needed}`);
  const lacking = wanted === undefined ? (tables[name]?.lacks?.(input) ?? null) : null;
  if (lacking === null) return { name };
  const able = names.filter((one) => needsOf(one) === null);
  return fault('table', `must be sent with ${lacking}: ${listed(able)}. The table ${name} has no history`);
}

/** Returns the names of the tables of an answer that was made without a table. */
export function tablesMade(operation: Pick<QueuedOperation, 'name' | 'tables'>, input: unknown): string[] {
  const names = Object.keys(operation.tables ?? {});
  return names.filter((name) => 'name' in chooseTable(operation, input, name, 'json'));
}

function fault(parameter: string, problem: string): { fault: ParameterFault } {
  return { fault: { parameter, problem } };
}

function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} or ${last}`;
}
