import type { deal } from '../../../src/operations/market/deal.ts';
import { fetchDeals } from '../../../src/upstream/keepa/deals.ts';
import { single } from '../handler.ts';

export const handleDeal = single<typeof deal>((input, context) =>
  fetchDeals(context.upstream.keepa, input, context),
);
