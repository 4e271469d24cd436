import type { categorySearch } from '../../../src/operations/market/category-search.ts';
import { searchCategories } from '../../../src/upstream/keepa/categories.ts';
import { single } from '../handler.ts';

export const handleCategorySearch = single<typeof categorySearch>((input, context) =>
  searchCategories(context.upstream.keepa, input, context),
);
