import type { LRUCache } from 'lru-cache';
import { poolBehind } from '../platform/db/cancellable.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { recentlyUsed } from '../platform/recently-used.ts';
import type { StoredRow } from './rank-row.ts';

/** A week has some hundred thousand brands, but requests repeat a few thousand of them. */
const MOST_REMEMBERED = 20_000;

/** Names never change, so cached names never become stale. */
const remembered = new WeakMap<Queryable, LRUCache<number, string>>();

/** Returns the names of the brands and categories of some rows, by id. */
export async function labelNames(
  database: Queryable,
  rows: readonly StoredRow[],
): Promise<ReadonlyMap<number, string>> {
  const pool = poolBehind(database);
  const known = remembered.get(pool) ?? recentlyUsed<number, string>(MOST_REMEMBERED);
  remembered.set(pool, known);
  const names = new Map<number, string>();
  const missing = new Set<number>();
  for (const row of rows) {
    for (const id of labelsOf(row)) {
      if (id === 0 || names.has(id)) continue;
      const name = known.get(id);
      if (name === undefined) missing.add(id);
      else names.set(id, name);
    }
  }
  if (missing.size === 0) return names;
  const { rows: found } = await database.query<{ id: number; name: string }>({
    name: 'aba-labels',
    text: 'select id, name from aba_labels where id = any($1::integer[])',
    values: [[...missing]],
  });
  for (const { id, name } of found) {
    known.set(id, name);
    names.set(id, name);
  }
  return names;
}

function labelsOf(row: StoredRow): number[] {
  return [row.brand1, row.brand2, row.brand3, row.category1, row.category2, row.category3];
}
