import { type product, upstreamOptions } from '../../../src/operations/market/product.ts';
import { fetchProducts } from '../../../src/upstream/keepa/products.ts';
import { fetching } from '../handler.ts';

export const handleProduct = fetching<typeof product>((input, missing, { upstream, ...context }) => {
  const asins = missing.map(({ key }) => key);
  return fetchProducts(upstream.keepa, asins, { ...upstreamOptions(input), update: input.update }, context);
});
