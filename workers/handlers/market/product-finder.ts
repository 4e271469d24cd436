import type { productFinder } from '../../../src/operations/market/product-finder.ts';
import { findProducts } from '../../../src/upstream/keepa/finder.ts';
import { single } from '../handler.ts';

export const handleProductFinder = single<typeof productFinder>((input, context) =>
  findProducts(context.upstream.keepa, input, context),
);
