import { type product, upstreamOptions } from '../../../src/operations/market/product.ts';
import { asinsPerCall, fetchProducts } from '../../../src/upstream/keepa/products.ts';
import { fetching } from '../handler.ts';

export const handleProduct = fetching<typeof product>(
  (input, missing, context) => {
    const asins = missing.map(({ key }) => key);
    const options = { ...upstreamOptions(input), update: input.update };
    return fetchProducts(context.upstream.keepa, asins, options, context);
  },
  (input) => asinsPerCall(upstreamOptions(input)),
);
