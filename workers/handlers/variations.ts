import { productSources } from '../../src/operations/market/product.ts';
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
import { asinsPerCall, fetchProducts } from '../../src/upstream/keepa/products.ts';
import type { Handler } from './handler.ts';

/**
 * Finds the family through the requested product or its parent, then fetches the members on the page. Every product
 * is a source of its own, so pages of a family share fetched data.
 */
export const handleVariations: Handler<typeof variations> = async (input, context) => {
  const { domain, asin, page, perPage } = input;
  const { keepa } = context.upstream;
  const found = new Map<string, Product>();

  async function obtainFamily(one: string): Promise<Product> {
    const options = familyOptions(domain);
    const obtained = await context.obtain<Product>(productSources([one], options), (missing) =>
      fetchProducts(
        keepa,
        missing.map(({ key }) => key),
        options,
        context,
      ),
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
      async (missing) => {
        const products = await fetchProducts(
          keepa,
          missing.map(({ key }) => key),
          options,
          context,
        );
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
