import type { category } from '../../../src/operations/market/category.ts';
import { fetchCategory } from '../../../src/upstream/keepa/categories.ts';
import { single } from '../handler.ts';

export const handleCategory = single<typeof category>((input, context) =>
  fetchCategory(context.upstream.keepa, input, context),
);
