import {
  type BestSellersInput,
  type BestSellersList,
  bestSellersIn,
} from '../../operations/market/best-sellers.ts';
import { madeFrom } from '../../results/provider-answers.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

const LIST_COST = 50;

/** The field is absent if a category has no list. */
const LIST = { field: 'bestSellersList', kind: 'object', mayBeAbsent: true } as const;

/** Fetches the list of a category; null if it has none. */
export async function fetchBestSellers(
  keepa: KeepaTransport,
  { domain, category, range, variations, sublist }: BestSellersInput,
  context: CallContext,
): Promise<BestSellersList | null> {
  const params = {
    domain,
    category,
    // Upstream's switch is the inverse of ours: 1 means all variations.
    variations: variations ? 0 : 1,
    // Upstream refuses `range` together with `sublist`.
    ...(sublist ? { sublist: 1 } : { range }),
  };
  const answer = await keepa.json({ path: 'bestsellers', params, cost: LIST_COST, payload: LIST }, context);
  return madeFrom(answer, bestSellersIn(answer));
}
