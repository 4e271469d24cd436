import type { seller } from '../../../src/operations/market/seller.ts';
import { fetchSellers } from '../../../src/upstream/keepa/sellers.ts';
import { fetching } from '../handler.ts';

export const handleSeller = fetching<typeof seller>(({ domain, storefront }, missing, context) => {
  const ids = missing.map(({ key }) => key);
  return fetchSellers(context.upstream.keepa, domain, ids, storefront, context);
});
