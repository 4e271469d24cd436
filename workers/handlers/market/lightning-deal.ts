import type { lightningDeal } from '../../../src/operations/market/lightning-deal.ts';
import { fetchLightningDeals } from '../../../src/upstream/keepa/lightning-deals.ts';
import { single } from '../handler.ts';

export const handleLightningDeal = single<typeof lightningDeal>(({ domain, asin }, context) =>
  fetchLightningDeals(context.upstream.keepa, domain, asin, context),
);
