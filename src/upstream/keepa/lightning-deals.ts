import { dealsIn, type LightningDeal } from '../../operations/market/lightning-deal.ts';
import type { Domain } from '../../operations/params/domain.ts';
import { madeFrom } from '../../results/provider-answers.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

const LIST_COST = 500;

/** Fetches the lightning deal of one ASIN, or, without one, all of the site (10 to 20 MB). */
export async function fetchLightningDeals(
  keepa: KeepaTransport,
  domain: Domain,
  asin: string | undefined,
  context: CallContext,
): Promise<LightningDeal[]> {
  const answer = await keepa.json(
    {
      path: 'lightningdeal',
      params: asin === undefined ? { domain } : { domain, asin },
      cost: asin === undefined ? LIST_COST : 1,
      payload: { field: 'lightningDeals', kind: 'list', mayBeAbsent: asin !== undefined },
    },
    context,
  );
  return madeFrom(answer, dealsIn(answer));
}
