import { windowTagSql } from './rank-windows.ts';

/**
 * SQL of the tags by which a row of a week is found, including the window of its rank. Conditions must use exactly
 * this expression, because the index of a week is created on it.
 * @param row the row's table; none in the definition of the index.
 */
export function foundBySql(row?: string): string {
  const column = (name: string) => (row ? `${row}.${name}` : name);
  return `(${column('tags')} || (${windowTagSql(column('rank'))}))`;
}
