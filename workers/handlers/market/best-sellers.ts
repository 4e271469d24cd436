import type { bestSellers } from '../../../src/operations/market/best-sellers.ts';
import { fetchBestSellers } from '../../../src/upstream/keepa/best-sellers.ts';
import { fetching } from '../handler.ts';

export const handleBestSellers = fetching<typeof bestSellers>(async (input, missing, context) => {
  const list = await fetchBestSellers(context.upstream.keepa, input, context);
  return new Map(list ? missing.map(({ key }) => [key, list]) : []);
});
