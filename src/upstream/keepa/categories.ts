import type { Category } from '../../operations/market/category.ts';
import type { Domain } from '../../operations/params/domain.ts';
import type { ExactInteger } from '../../operations/params/exact-integer.ts';
import { isRecord } from './envelope.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

const CATEGORIES = { field: 'categories', kind: 'object', mayBeAbsent: false } as const;

/** Fetches up to ten categories by id; `parents` adds all categories up to the root. Unknown ids are absent. */
export async function fetchCategories(
  keepa: KeepaTransport,
  { domain, ids, parents }: { domain: Domain; ids: readonly ExactInteger[]; parents: boolean },
  context: CallContext,
): Promise<Record<string, Category>> {
  const params = { domain, category: ids.join(','), parents: Number(parents) };
  const { categories, categoryParents } = await keepa.json(
    { path: 'category', params, cost: 1, payload: CATEGORIES },
    context,
  );
  return { ...categoriesIn(categoryParents), ...categoriesIn(categories) };
}

/** Fetches the categories whose names contain all words of the term. */
export async function searchCategories(
  keepa: KeepaTransport,
  { domain, term }: { domain: Domain; term: string },
  context: CallContext,
): Promise<Record<string, Category>> {
  const params = { domain, type: 'category', term };
  const { categories } = await keepa.json({ path: 'search', params, cost: 1, payload: CATEGORIES }, context);
  return categoriesIn(categories);
}

function categoriesIn(value: unknown): Record<string, Category> {
  return isRecord(value) ? (value as Record<string, Category>) : {};
}
