import type { Source } from '../../src/operations/define.ts';
import {
  mayContinue,
  type productSearch,
  type SearchPage,
  searchOptions,
} from '../../src/operations/market/product-search.ts';
import { searchProducts } from '../../src/upstream/keepa/endpoints.ts';
import type { Handler } from './handler.ts';

/** Pages that are fetched at the same time after the first one: at most two of them are not needed. */
const PAGES_AT_ONCE = 3;

/**
 * Fetches the provider's pages up to the last one with results. Each page is a source of its own. Many searches have few
 * results and every page costs tokens, so the first page is fetched by itself.
 */
export const handleProductSearch: Handler<typeof productSearch> = async (input, context) => {
  const found = new Map<string, SearchPage>();
  const options = { ...searchOptions(input), update: input.update };

  async function fetch([missing]: readonly Source[]): Promise<Map<string, SearchPage>> {
    if (!missing) return new Map();
    const page = missing.key;
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
