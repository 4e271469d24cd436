import {
  CATEGORIES_A_TOKEN,
  type category,
  categorySources,
  childCategories,
} from '../../src/operations/market/category.ts';
import { fetchCategories } from '../../src/upstream/keepa/endpoints.ts';
import type { Handler } from './handler.ts';

/** Fetches a category and, on request, its subcategories. Each of these is a source that a call for it shares. */
export const handleCategory: Handler<typeof category> = async (input, context) => {
  const { domain, category, parents, children } = input;
  const { keepa } = context.upstream;
  const found = await context.obtain(context.sources, async (missing) => {
    const categories = await fetchCategories(keepa, { domain, ids: [category], parents }, context);
    return new Map(missing.map(({ key }) => [key, categories]));
  });
  const below = children ? childCategories(found.get(''), category) : [];
  const obtained = await context.obtain(
    categorySources(domain, below),
    async (missing) => {
      const ids = missing.map(({ key }) => key);
      const categories = await fetchCategories(keepa, { domain, ids, parents: false }, context);
      return new Map(
        ids.flatMap((id) => {
          const one = categories[id];
          return one ? [[id, { [id]: one }] as const] : [];
        }),
      );
    },
    CATEGORIES_A_TOKEN,
  );
  return new Map([...obtained, ...found]);
};
