import { z } from 'zod';
import { pagination } from '../answers/pagination.ts';
import { site } from '../answers/site.ts';
import { defineQueued, oneSource } from '../define.ts';
import { DOMAIN_NAMES, type Domain, domainExcept, SITES } from '../params/domain.ts';
import { completePaging, type Paging, pageOf, paging } from '../params/paging.ts';
import { request } from '../params/request.ts';

export interface TopSellersInput extends Paging {
  domain: Domain;
}

export const topSellers = defineQueued<'market.topseller', TopSellersInput, string[]>({
  name: 'market.topseller',
  summary: 'Lists the sellers of a site with the most ratings, most ratings first.',
  tool: 'market_get_top_sellers',
  toolset: 'sellers',
  routes: [{ method: 'GET', path: '/api/market/topseller' }],
  params: request(
    { domain: DOMAIN_NAMES },
    { domain: domainExcept([12], 'has no list of top sellers'), ...paging() },
  ).transform(completePaging),
  price: { text: '50', quote: () => 50 },
  pools: ['market'],
  queue: () => 'market',
  // The list has up to 100,000 sellers.
  isLarge: () => true,
  source: ({ domain }) => oneSource(`topseller/${domain}`),
  table: {
    columns: () => ['sellerId'],
    rows: ({ sellerIdList }) => (sellerIdList as string[]).map((sellerId) => ({ sellerId })),
  },
  respond: {
    type: 'json',
    answer: z.object({
      ...site(),
      sellerIdList: z.array(z.string()).describe('Seller ids, highest number of ratings first'),
      _pagination: pagination.optional(),
    }),
    present(found, input) {
      const { domain } = input;
      const ids = found.get('') ?? [];
      const page = pageOf(ids.length, input);
      return {
        data: {
          country: SITES[domain],
          domainId: domain,
          sellerIdList: page ? page.cut(ids) : ids,
          ...(page ? { _pagination: page.pagination } : {}),
        },
      };
    },
  },
});
