import { randomUUID } from 'node:crypto';
import sharp from 'sharp';
import type { Source } from '../../src/operations/define.ts';
import {
  CATEGORIES_A_TOKEN,
  type category,
  categorySources,
  childCategories,
} from '../../src/operations/market/category.ts';
import { productSources, upstreamOptions } from '../../src/operations/market/product.ts';
import {
  mayContinue,
  type productSearch,
  type SearchPage,
  searchOptions,
} from '../../src/operations/market/product-search.ts';
import {
  familyKey,
  familyOptions,
  memberOptions,
  type variations,
} from '../../src/operations/market/variations.ts';
import {
  familyOf,
  isKnown,
  type Product,
  parentToAsk,
  withoutFamily,
} from '../../src/operations/products/product.ts';
import { SoukError } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/log.ts';
import {
  fetchBestSellers,
  fetchCategories,
  fetchDeals,
  fetchGraphImage,
  fetchLightningDeals,
  fetchSellers,
  fetchTopSellers,
  findProducts,
  searchCategories,
  searchProducts,
} from '../../src/upstream/keepa/endpoints.ts';
import { asinsPerCall, fetchProducts, fetchProductsByCode } from '../../src/upstream/keepa/products.ts';
import { fetching, type Handler, type HandlersOf, single } from './handler.ts';

/**
 * Finds the family through the requested product or its parent, then fetches the members on the page. Every product
 * is a source of its own, so pages of a family share fetched data.
 */
const handleVariations: Handler<typeof variations> = async (input, context) => {
  const { domain, asin, page, perPage } = input;
  const { keepa } = context.upstream;
  const found = new Map<string, Product>();

  async function obtainFamily(one: string): Promise<Product> {
    const options = familyOptions(domain);
    const obtained = await context.obtain<Product>(productSources([one], options), (keys) =>
      fetchProducts(keepa, keys, options, context),
    );
    const product = obtained.get(one);
    if (!isKnown(product))
      throw new SoukError('PRODUCT_NOT_FOUND', { message: `No product data was found for ASIN ${one}.` });
    found.set(familyKey(one), product);
    return product;
  }

  /** Every member lists its whole family, so the lists of a large family are longer than everything else. */
  async function obtainMembers(asins: readonly string[]): Promise<void> {
    const options = memberOptions(input);
    const obtained = await context.obtain<Product>(
      productSources([...new Set(asins)], options, 'member'),
      async (keys) => {
        const products = await fetchProducts(keepa, keys, options, context);
        return new Map([...products].map(([key, product]) => [key, withoutFamily(product)]));
      },
      asinsPerCall(options),
    );
    for (const [key, product] of obtained) found.set(key, product);
  }

  const asked = await obtainFamily(asin);
  const parentAsin = parentToAsk(asked);
  const parent = parentAsin === null ? undefined : await obtainFamily(parentAsin);
  const { members } = familyOf(asked, parent);
  const onPage = members.slice(page * perPage, (page + 1) * perPage);
  await obtainMembers(onPage.map((member) => member.asin));
  return found;
};

/** Pages that are fetched at the same time after the first one: at most two of them are not needed. */
const PAGES_AT_ONCE = 3;

/**
 * Fetches the provider's pages up to the last one with results. Each page is a source of its own. Many searches have few
 * results and every page costs tokens, so the first page is fetched by itself.
 */
const handleProductSearch: Handler<typeof productSearch> = async (input, context) => {
  const found = new Map<string, SearchPage>();
  const options = { ...searchOptions(input), update: input.update };

  async function fetch([page = '']: readonly string[]): Promise<Map<string, SearchPage>> {
    return new Map([[page, await searchProducts(context.upstream.keepa, { ...options, page }, context)]]);
  }

  for (const sources of steps(context.sources)) {
    const pages = await context.obtain(sources, fetch, 1);
    for (const { key } of sources) found.set(key, pages.get(key) ?? { products: [] });
    if (!mayContinue([...found.values()])) break;
  }
  return found;
};

function* steps(sources: readonly Source[]): Generator<readonly Source[]> {
  for (let i = 0; i < sources.length; i += i === 0 ? 1 : PAGES_AT_ONCE)
    yield sources.slice(i, i === 0 ? 1 : i + PAGES_AT_ONCE);
}

/** Fetches a category and, on request, its subcategories. Each of these is a source that a call for it shares. */
const handleCategory: Handler<typeof category> = async (input, context) => {
  const { domain, category, parents, children } = input;
  const { keepa } = context.upstream;
  const found = await context.obtain(context.sources, async (keys) => {
    const categories = await fetchCategories(keepa, { domain, ids: [category], parents }, context);
    return new Map(keys.map((key) => [key, categories]));
  });
  const below = children ? childCategories(found.get(''), category) : [];
  const obtained = await context.obtain(
    categorySources(domain, below),
    async (ids) => {
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

export const MARKET_HANDLERS: HandlersOf<'market'> = {
  'market.product': fetching(
    (input, keys, context) => {
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

  'market.bestseller': fetching(async (input, keys, context) => {
    const list = await fetchBestSellers(context.upstream.keepa, input, context);
    return new Map(list ? keys.map((key) => [key, list]) : []);
  }),

  'market.seller': fetching(({ domain, storefront }, ids, context) =>
    fetchSellers(context.upstream.keepa, domain, ids, storefront, context),
  ),

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

/** Keeps all colours: charts have far fewer than 256, and customers choose some of them. */
const LOSSLESS_PALETTE = { palette: true, colours: 256, quality: 100, effort: 7, dither: 0 } as const;

/**
 * Checks that a picture is a complete PNG, resizes it if upstream did not keep to the requested size, and re-encodes it
 * with a palette if that is smaller. Charts have few colours, so it usually is much smaller.
 * @throws SoukError UPSTREAM_ERROR for any other picture.
 */
async function checkedPng(
  picture: Buffer,
  size: { width: number; height: number },
  log: Logger,
): Promise<Buffer> {
  const { fault, isOfSize } = await examine(picture, size);
  if (fault) {
    const errorId = randomUUID();
    log.warn({ errorId, fault }, 'the data provider sent a bad picture');
    throw new SoukError('UPSTREAM_ERROR', { metadata: { errorId }, cause: fault });
  }
  const image = sharp(picture);
  if (!isOfSize) image.resize({ ...size, fit: 'fill' });
  const encoded = await image.png(LOSSLESS_PALETTE).toBuffer();
  return !isOfSize || encoded.length < picture.length ? encoded : picture;
}

async function examine(
  picture: Buffer,
  { width, height }: { width: number; height: number },
): Promise<{ fault: string | null; isOfSize: boolean }> {
  try {
    const image = sharp(picture, { failOn: 'error', limitInputPixels: 4_000_000 });
    const found = await image.metadata();
    const isOfSize = found.width === width && found.height === height;
    if (found.format !== 'png') return { fault: `format ${found.format}`, isOfSize };
    // Only decoding every pixel shows that the file is complete.
    await image.stats();
    return { fault: null, isOfSize };
  } catch (error) {
    return { fault: (error as Error).message, isOfSize: false };
  }
}
