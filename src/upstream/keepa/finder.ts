import { toUpstream } from '../../operations/market/finder-fields.ts';
import type { FinderPage, ProductFinderInput } from '../../operations/market/product-finder.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

/** Fetches one page of matching products. */
export async function findProducts(
  keepa: KeepaTransport,
  { domain, page, perPage, sort, stats, selection }: ProductFinderInput,
  context: CallContext,
): Promise<FinderPage> {
  const call = {
    path: 'query',
    params: { domain, ...(stats === 1 ? { stats } : {}) },
    body: { page, perPage, sort, ...toUpstream(selection) },
    cost: 10 + Math.ceil(perPage / 100) + (stats === 1 ? 30 : 0),
  };
  const { asinList, totalResults, searchInsights } = await keepa.json(call, context);
  return {
    asinList: Array.isArray(asinList) ? (asinList as string[]) : [],
    totalResults: typeof totalResults === 'number' ? totalResults : 0,
    searchInsights: stats === 1 ? (searchInsights ?? null) : null,
  };
}
