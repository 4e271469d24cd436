import { type productSearch, searchOptions } from '../../../src/operations/market/product-search.ts';
import { searchProducts } from '../../../src/upstream/keepa/search.ts';
import { single } from '../handler.ts';

export const handleProductSearch = single<typeof productSearch>((input, context) =>
  searchProducts(context.upstream.keepa, { ...searchOptions(input), update: input.update }, context),
);
