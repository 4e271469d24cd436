import { upstreamOptions } from '../../src/operations/market/product.ts';
import {
  fetchBestSellers,
  fetchDeals,
  fetchGraphImage,
  fetchLightningDeals,
  fetchSellers,
  fetchTopSellers,
  findProducts,
  searchCategories,
} from '../../src/upstream/keepa/endpoints.ts';
import { asinsPerCall, fetchProducts, fetchProductsByCode } from '../../src/upstream/keepa/products.ts';
import { checkedPng } from '../pictures/png.ts';
import { handleCategory } from './category.ts';
import { fetching, type HandlersOf, single } from './handler.ts';
import { handleProductSearch } from './product-search.ts';
import { handleVariations } from './variations.ts';

export const MARKET_HANDLERS: HandlersOf<'market'> = {
  'market.product': fetching(
    (input, missing, context) => {
      const keys = missing.map(({ key }) => key);
      const options = { ...upstreamOptions(input), update: input.update };
      const { keepa } = context.upstream;
      return input.codes
        ? fetchProductsByCode(keepa, keys, options, context)
        : fetchProducts(keepa, keys, options, context);
    },
    (input) => asinsPerCall(upstreamOptions(input)),
  ),

  'market.variations': handleVariations,

  'market.productfinder': single((input, context) => findProducts(context.upstream.keepa, input, context)),

  'market.productsearch': handleProductSearch,

  'market.categorysearch': single((input, context) =>
    searchCategories(context.upstream.keepa, input, context),
  ),

  'market.category': handleCategory,

  'market.bestseller': fetching(async (input, missing, context) => {
    const list = await fetchBestSellers(context.upstream.keepa, input, context);
    return new Map(list ? missing.map(({ key }) => [key, list]) : []);
  }),

  'market.seller': fetching(({ domain, storefront }, missing, context) => {
    const ids = missing.map(({ key }) => key);
    return fetchSellers(context.upstream.keepa, domain, ids, storefront, context);
  }),

  'market.topseller': single(({ domain }, context) =>
    fetchTopSellers(context.upstream.keepa, domain, context),
  ),

  'market.deal': single((input, context) => fetchDeals(context.upstream.keepa, input, context)),

  'market.lightningdeal': single(({ domain, asin }, context) =>
    fetchLightningDeals(context.upstream.keepa, domain, asin, context),
  ),

  'market.graphimage': single(async (input, context) =>
    checkedPng(await fetchGraphImage(context.upstream.keepa, input, context), input, context.log),
  ),
};
