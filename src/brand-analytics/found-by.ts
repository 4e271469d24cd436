import { windowTagSql } from './rank-windows.ts';

/**
 * All that a row of a week is found by, as SQL: its tags and the window of its rank. Conditions must have exactly this
 * form, because the index of a week is made on it.
 * @param row its table; none within the definition of the index.
 */
export function foundBySql(row?: string): string {
  const column = (name: string) => (row ? `${row}.${name}` : name);
  return `(${column('tags')} || (${windowTagSql(column('rank'))}))`;
}
