import { setImmediate } from 'node:timers/promises';
import type { Row, TableShape } from '../../operations/tables/columns.ts';

/** Rows: objects with values by the names of the columns. */
export type Rows = AsyncIterable<object> | Iterable<object>;

/** Values that a group has: a few milliseconds of work in every form. */
const GROUP_VALUES = 16_384;

/** Yields rows in groups of about as many values, the first one even if it has no rows, and lets others work after each. */
export async function* groupsOf(
  rows: Rows,
  { columns }: TableShape,
  values: number = GROUP_VALUES,
): AsyncGenerator<Row[]> {
  const size = Math.max(1, Math.floor(values / columns.length));
  let group: Row[] = [];
  let isFirst = true;
  for await (const row of rows) {
    group.push(row as Row);
    if (group.length < size) continue;
    yield group;
    isFirst = false;
    group = [];
    await setImmediate();
  }
  if (group.length > 0 || isFirst) yield group;
}
