import type { Source } from '../../src/operations/define.ts';
import { productSources } from '../../src/operations/market/product.ts';
import { memberOptions, type variations } from '../../src/operations/market/variations.ts';
import { familyOf, isKnown, parentToAsk } from '../../src/operations/products/family.ts';
import type { Product } from '../../src/operations/products/product.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { asinsPerCall, fetchProducts } from '../../src/upstream/keepa/products.ts';
import type { Handler } from './handler.ts';

/**
 * Finds the family through the requested product or its parent, then fetches the members on the page. Every product
 * is a source of its own, so pages, levels and members of one family share fetched data.
 */
export const handleVariations: Handler<typeof variations> = async (input, context) => {
  const { domain, asin, page, perPage } = input;
  const options = memberOptions(domain);
  const found = new Map<string, Product>();

  async function obtain(asins: readonly string[]): Promise<void> {
    const wanted = productSources(
      [...new Set(asins)].filter((one) => !found.has(one)),
      options,
    );
    const { keepa } = context.upstream;
    const fetch = (missing: readonly Source[]) =>
      fetchProducts(
        keepa,
        missing.map(({ key }) => key),
        options,
        context,
      );
    const obtained = await context.obtain(wanted, fetch, asinsPerCall(options));
    for (const [key, product] of obtained) found.set(key, product);
  }

  async function obtainKnown(one: string): Promise<Product> {
    await obtain([one]);
    const product = found.get(one);
    if (isKnown(product)) return product;
    throw new SoukError('PRODUCT_NOT_FOUND', { message: `No product data was found for ASIN ${one}.` });
  }

  const asked = await obtainKnown(asin);
  const parentAsin = parentToAsk(asked);
  const parent = parentAsin === null ? undefined : await obtainKnown(parentAsin);
  const { members } = familyOf(asked, parent);
  const onPage = members.slice(page * perPage, (page + 1) * perPage);
  await obtain(onPage.map((member) => member.asin));
  return found;
};
