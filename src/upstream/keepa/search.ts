import type { SearchOptions, SearchPage } from '../../operations/market/product-search.ts';
import { productsIn } from '../../operations/products/normalise.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

const PAGE_COST = 10;

/** Fetches one page of results, from 0, in the site's order. */
export async function searchProducts(
  keepa: KeepaTransport,
  options: SearchOptions & { page: string; update?: number | undefined },
  context: CallContext,
): Promise<SearchPage> {
  const { domain, term, page, asinsOnly, stats, history, rating, update } = {
    stats: undefined,
    history: false,
    rating: false,
    ...options,
  };
  const params = {
    domain,
    type: 'product',
    term,
    page,
    ...(asinsOnly ? { 'asins-only': 1 } : { history: Number(history) }),
    ...(stats === undefined ? {} : { stats }),
    ...(rating ? { rating: 1 } : {}),
    ...(update === 0 ? { update } : {}),
  };
  const answer = await keepa.json(
    {
      path: 'search',
      params,
      cost: PAGE_COST,
      payload: { field: asinsOnly ? 'asinList' : 'products', kind: 'list', mayBeAbsent: false },
    },
    context,
  );
  if (asinsOnly) return { asinList: Array.isArray(answer.asinList) ? (answer.asinList as string[]) : [] };
  return { products: productsIn(answer) };
}
