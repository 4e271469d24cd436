import { z } from 'zod';
import { indexTime, largeId, pagination, SCHEMA_NAMES, site } from '../answers.ts';
import { defineQueued, oneSource } from '../define.ts';
import { DOMAIN_NAMES, domainExcept, SITES } from '../params/domain.ts';
import { completePaging, pageOf, paging } from '../params/lists.ts';
import { isRecord, request } from '../params/request.ts';
import { boolean, categoryId, integerOf, oneOfNumbers } from '../params/scalars.ts';
import { isoTimes } from '../products/decode-product.ts';
import { columnsFrom } from '../tables/columns.ts';
import { ASIN_COLUMNS, asinRows, entriesBefore } from './list-tables.ts';

const RANK_DAYS = [0, 30, 90, 180] as const;

/** The list as upstream sends it, best seller first; null if upstream has no list. */
export interface BestSellersList {
  asinList: string[];
  [field: string]: unknown;
}

/** Upstream's lists of root categories are longer than the documented maximum. */
const LONGEST_LIST = 10_000;

const list = z
  .looseObject({
    domainId: z.int().optional(),
    categoryId: largeId('Category node id').optional(),
    lastUpdate: indexTime('When the list was created').optional(),
    asinList: z.array(z.string()).describe('ASINs, best seller first'),
    _pagination: pagination.optional(),
  })
  .describe('Best sellers of a category')
  .register(SCHEMA_NAMES, { id: 'BestSellersList' });

const params = request(
  { domain: DOMAIN_NAMES },
  {
    domain: domainExcept([12], 'has no best-seller lists'),
    category: categoryId().meta({ description: 'Category node id', examples: [100000] }),
    range: oneOfNumbers(RANK_DAYS)
      .default(0)
      .describe('Rank: 0 current, otherwise the mean over this many days'),
    variations: boolean().default(false).describe('Return only the best-selling variation of each parent'),
    sublist: boolean().default(false).describe('Use the rank in the subcategory instead of the main rank'),
    ...paging(),
  },
)
  .refine(({ range, sublist }) => !sublist || range === 0, {
    path: ['range'],
    error: 'must be 0 with sublist: the provider has no mean ranks of subcategories',
  })
  .transform(completePaging);

export type BestSellersInput = z.output<typeof params>;

export const bestSellers = defineQueued({
  name: 'market.bestseller',
  summary: 'Lists the best sellers of a category, best first.',
  tool: 'market_get_best_sellers',
  toolset: 'categories',
  routes: [
    { method: 'GET', path: '/api/market/bestseller' },
    { method: 'GET', path: '/api/market/bestsellers' },
  ],
  params,
  price: { text: '10', quote: () => 10 },
  pools: ['market'],
  // A list has up to 500,000 entries.
  isLarge: () => true,
  source: ({ domain, category, range, variations, sublist }) =>
    oneSource(
      `bestsellers/${domain}/${category}/${range}/${Number(variations)}/${Number(sublist)}`,
      bestSellersIn,
    ),
  toolData(data) {
    const list = data.bestSellersList;
    if (!isRecord(list)) return data;
    return { ...data, bestSellersList: { ...list, ...isoTimes(list, ['lastUpdate']) } };
  },
  tables: {
    asins: {
      columns: () => ASIN_COLUMNS,
      rows({ bestSellersList, country }) {
        const { asinList, _pagination } = bestSellersList as BestSellersList & { _pagination?: unknown };
        return asinRows(asinList, country, entriesBefore(_pagination));
      },
    },
  },
  respond: {
    type: 'json',
    answer: z.object({ ...site(), bestSellersList: list }),
    present(found: ReadonlyMap<string, BestSellersList>, input) {
      const { domain, category } = input;
      const categoryId = integerOf(category);
      const raw = found.get('') ?? { domainId: domain, lastUpdate: -1, categoryId, asinList: [] };
      const asinList = raw.asinList.slice(0, LONGEST_LIST);
      const page = pageOf(asinList.length, input);
      const bestSellersList = {
        ...raw,
        asinList: page ? page.cut(asinList) : asinList,
        ...(page ? { _pagination: page.pagination } : {}),
      };
      return { data: { country: SITES[domain], domainId: domain, bestSellersList } };
    },
  },
});

/** Returns the list of an answer of the provider; null if the category has none. */
export function bestSellersIn(answer: unknown): BestSellersList | null {
  const { bestSellersList: list } = (isRecord(answer) ? answer : {}) as { bestSellersList?: unknown };
  return isRecord(list) && Array.isArray(list.asinList) ? (list as unknown as BestSellersList) : null;
}

const TOP_SELLER_COLUMNS = columnsFrom({
  position: ['integer', 'Position in the list, from 1: most ratings first'],
  sellerId: ['text', 'Id of the seller'],
  country: ['text', 'Site code, such as us'],
});

export const topSellers = defineQueued({
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
  // The list has up to 100,000 sellers.
  isLarge: () => true,
  source: ({ domain }) => oneSource(`topseller/${domain}`),
  tables: {
    sellers: {
      columns: () => TOP_SELLER_COLUMNS,
      *rows({ sellerIdList, country, _pagination }) {
        const before = entriesBefore(_pagination);
        for (const [i, sellerId] of (sellerIdList as string[]).entries())
          yield { position: before + i + 1, sellerId, country };
      },
    },
  },
  respond: {
    type: 'json',
    answer: z.object({
      ...site(),
      sellerIdList: z.array(z.string()).describe('Seller ids, highest number of ratings first'),
      _pagination: pagination.optional(),
    }),
    present(found: ReadonlyMap<string, string[]>, input) {
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
