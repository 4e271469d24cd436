import { z } from 'zod';
import { largeId } from '../answers/measures.ts';
import { site } from '../answers/site.ts';
import { defineQueued, oneSource } from '../define.ts';
import { DOMAIN_NAMES, type Domain, domain, SITES } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { text } from '../params/scalars.ts';
import type { Category } from './category.ts';

export interface CategorySearchInput {
  domain: Domain;
  term: string;
}

export const categorySearch = defineQueued<
  'market.categorysearch',
  CategorySearchInput,
  Record<string, Category>
>({
  name: 'market.categorysearch',
  summary: 'Searches categories by keyword.',
  tool: 'market_search_categories',
  toolset: 'categories',
  routes: [
    { method: 'GET', path: '/api/market/categorysearch' },
    { method: 'GET', path: '/api/market/search', type: 'category' },
  ],
  params: request(
    { domain: DOMAIN_NAMES },
    {
      domain: domain(),
      term: text({ maxLength: 500 }).meta({ description: 'Keywords; all must match', examples: ['kitchen'] }),
    },
  ),
  price: { text: '1', quote: () => 1 },
  pools: ['market'],
  queue: () => 'market',
  source: ({ domain, term }) => oneSource(`categorysearch/${domain}/${encodeURIComponent(term)}`),
  table: {
    columns: () => ['catId', 'name'],
    rows: ({ categories }) => categories as Record<string, unknown>[],
  },
  respond: {
    type: 'json',
    records: { path: 'categories' },
    answer: z.object({
      ...site(),
      categories: z.array(z.object({ catId: largeId('Category node id'), name: z.string() })),
    }),
    present: (found, { domain }) => {
      const categories = Object.values(found.get('') ?? {}).map(({ catId, name }) => ({ catId, name }));
      return { data: { country: SITES[domain], domainId: domain, categories } };
    },
  },
});
