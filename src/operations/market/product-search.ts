import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { product, responseShape, site } from '../answers.ts';
import { defineQueued, type Source } from '../define.ts';
import { decode, statsPeriod } from '../params/answer-form.ts';
import { DOMAIN_NAMES, domain, SITES } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { boolean, integer, oneOf, text } from '../params/scalars.ts';
import { decodeProduct, productFieldNeeds } from '../products/decode-product.ts';
import {
  atDetailLevel,
  DETAIL_HINTS,
  DETAIL_LEVELS,
  SUMMARY_HAS_NO_HISTORY,
} from '../products/detail-level.ts';
import { cutHistory, lastDays } from '../products/history.ts';
import type { Product } from '../products/product.ts';
import { dailyTable, historyTable, productTable } from '../products/product-tables.ts';
import { PROVIDER_PRODUCT_FIELDS } from '../products/provider-fields.ts';
import { ASIN_COLUMNS, asinRows } from './list-tables.ts';
import { DEFAULT_STATS_DAYS, LONGEST_STATS_DAYS, readableRecords } from './product.ts';

/** One page of the provider's results: products, or only their ASINs. */
export type SearchPage = { products: Product[] } | { asinList: string[] };

/** A page of ours consists of ten pages of the provider, which has at most 100 results for a search. */
const RESULTS_PER_PAGE = 100;
const PROVIDER_RESULTS_PER_PAGE = 10;
const PROVIDER_PAGES = 10;

const params = request(
  { domain: DOMAIN_NAMES },
  {
    domain: domain(),
    term: text({ maxLength: 500 }).meta({ description: 'Keywords', examples: ['garlic press'] }),
    page: integer({ min: 0, max: 9 }).default(0).describe('Page of up to 100 results, from 0'),
    asinsOnly: boolean().default(false).describe('Return ASINs only'),
    stats: statsPeriod()
      .optional()
      .describe('Period of price statistics: a number of days, or two times separated by a comma'),
    history: boolean().default(false).describe('Include the price history, at detailLevel=lite or full'),
    update: integer({ min: 0 }).optional().describe('Maximum age of the data in hours; 0: fetch it again'),
    rating: boolean()
      .optional()
      .describe('Include rating and review count, and their history. Default: true at detailLevel=summary'),
    historyDays: integer({ min: 1 })
      .optional()
      .describe('Return only the last N days of history; enables history'),
    detailLevel: oneOf(DETAIL_LEVELS)
      .default('lite')
      .describe('Fields: summary has core values, lite omits large histories, full has all'),
    decode: decode(),
  },
)
  .refine(({ detailLevel, asinsOnly, history }) => detailLevel !== 'summary' || asinsOnly || !history, {
    path: ['history'],
    error: SUMMARY_HAS_NO_HISTORY,
  })
  .refine(
    ({ detailLevel, asinsOnly, historyDays }) =>
      detailLevel !== 'summary' || asinsOnly || historyDays === undefined,
    {
      path: ['historyDays'],
      error: SUMMARY_HAS_NO_HISTORY,
    },
  )
  // Changes the object that the schema has made, because copying it takes longer than all other steps.
  .transform((input) =>
    Object.assign(input, {
      history: input.history || input.historyDays !== undefined,
      rating: input.rating ?? input.detailLevel === 'summary',
    }),
  );

type ProductSearchInput = z.output<typeof params>;

export const productSearch = defineQueued<'market.productsearch', ProductSearchInput, SearchPage>({
  name: 'market.productsearch',
  summary: "Searches products by keyword. Results have the site's order, without advertisements.",
  tool: 'market_search_products',
  toolDefaults: { detailLevel: 'summary' },
  toolset: 'products',
  routes: [
    { method: 'GET', path: '/api/market/productsearch' },
    { method: 'GET', path: '/api/market/search', type: 'product' },
  ],
  params,
  price: {
    text: '5, or 0 for pages after the first, which are empty',
    quote: () => 5,
    settle: ({ page }) => (providerPages(page).length > 0 ? 5 : 0),
  },
  pools: ['market'],
  isLarge: ({ asinsOnly }) => !asinsOnly,
  freshness: 'update',
  source: searchSources,
  toolData: (data) => readableRecords(data, 'products'),
  tables: {
    products: productTable(productsIn, {
      fetched: ({ rating }) => ({ rating, buybox: false }),
      needs: ({ asinsOnly }) => (asinsOnly ? 'asinsOnly=0' : null),
      lacks: ({ history, historyDays }) =>
        historyDays === undefined ? (history ? 'history' : null) : 'historyDays',
    }),
    asins: {
      needs: ({ asinsOnly }) => (asinsOnly ? null : 'asinsOnly=1'),
      columns: () => ASIN_COLUMNS,
      rows: ({ asinList, country }) => asinRows(asinList as string[], country),
    },
    history: historyTable(productsIn, historyNeeds),
    daily: dailyTable(productsIn, historyNeeds),
  },
  respond: {
    type: 'json',
    records: {
      path: 'products',
      ids: ['asin'],
      providerFields: PROVIDER_PRODUCT_FIELDS,
      needs: (field, input: ProductSearchInput) =>
        productFieldNeeds(field, input, [false, 'a look-up of the products with buybox=1']),
    },
    answer: z.object({
      ...site(),
      count: z.int().min(0).optional(),
      products: z.array(product).optional().describe('Products of the page; absent with asinsOnly'),
      asinList: z.array(z.string()).optional().describe('ASINs of the page; only with asinsOnly'),
      responseShape: responseShape.optional(),
    }),
    present(found, input, { now }) {
      const { domain, detailLevel } = input;
      const site = { country: SITES[domain], domainId: domain };
      const results = searchResults([...found.values()]);
      if (input.asinsOnly) return { data: { ...site, asinList: [...results.keys()] } };
      const products = [...results.values()].map((product) => shown(product, input, now));
      const responseShape = { detailLevel, hint: DETAIL_HINTS[detailLevel] };
      return { data: { ...site, count: products.length, products, responseShape } };
    },
  },
});

/** Returns one source for each page of the provider. Its key is the number of the page. */
function searchSources(input: ProductSearchInput): Source[] {
  const optionsId = fingerprint(searchOptions(input));
  return providerPages(input.page).map((page) => ({
    key: String(page),
    identity: `productsearch/${optionsId}/${page}`,
  }));
}

/** Returns the provider's pages of a page; none beyond its last one. */
function providerPages(page: number): number[] {
  const each = RESULTS_PER_PAGE / PROVIDER_RESULTS_PER_PAGE;
  const first = page * each;
  return Array.from({ length: each }, (_, i) => first + i).filter((one) => one < PROVIDER_PAGES);
}

/** Returns the upstream options. Statistics are free and hold the current prices, so they are always requested. */
export function searchOptions({ domain, term, asinsOnly, stats, history, rating }: ProductSearchInput) {
  if (asinsOnly) return { domain, term, asinsOnly };
  return { domain, term, asinsOnly, stats: sentPeriod(stats), history, rating };
}

/** A period may also have two ends. */
function sentPeriod(stats = String(DEFAULT_STATS_DAYS)): string {
  return Number(stats) > LONGEST_STATS_DAYS ? String(LONGEST_STATS_DAYS) : stats;
}

export type SearchOptions = ReturnType<typeof searchOptions>;

/** Returns whether a page of the provider may follow: the last one is full, and has results that the others do not have. */
export function mayContinue(pages: readonly SearchPage[]): boolean {
  const { size } = searchResults(pages);
  const isFull = pages.slice(-1).flatMap(resultsOf).length >= PROVIDER_RESULTS_PER_PAGE;
  return isFull && size > searchResults(pages.slice(0, -1)).size && size < RESULTS_PER_PAGE;
}

/** Returns the products of consecutive pages by ASIN. A product that moved between two fetches appears once. */
function searchResults(pages: readonly SearchPage[]): Map<string, Product> {
  const products = pages.flatMap(resultsOf);
  const results = new Map<string, Product>();
  for (const product of products) {
    if (results.size < RESULTS_PER_PAGE && !results.has(product.asin)) results.set(product.asin, product);
  }
  return results;
}

function resultsOf(page: SearchPage): readonly Product[] {
  return 'products' in page ? page.products : page.asinList.map((asin) => ({ asin }));
}

function productsIn({ products }: Record<string, unknown>): readonly Product[] {
  return products as Product[];
}

/** Returns what the histories of an answer need, and the input lacks. */
function historyNeeds({ asinsOnly, history, detailLevel }: ProductSearchInput): string | null {
  if (asinsOnly) return 'asinsOnly=0';
  if (detailLevel === 'summary') return 'detailLevel=lite or full';
  return history ? null : 'history=1';
}

function shown(product: Product, input: ProductSearchInput, now: number): Record<string, unknown> {
  const { detailLevel, history, historyDays, rating } = input;
  const cut = historyDays === undefined ? product : cutHistory(product, lastDays(historyDays, now));
  const atLevel = atDetailLevel(cut, detailLevel, { csv: history, rating, buybox: false });
  return input.decode ? decodeProduct(atLevel as Product, input.domain) : atLevel;
}
