import type { topSellers } from '../../../src/operations/market/top-sellers.ts';
import { fetchTopSellers } from '../../../src/upstream/keepa/sellers.ts';
import { single } from '../handler.ts';

export const handleTopSellers = single<typeof topSellers>(({ domain }, context) =>
  fetchTopSellers(context.upstream.keepa, domain, context),
);
