import {
  type BestSellersInput,
  type BestSellersList,
  bestSellersIn,
} from '../../operations/market/best-sellers.ts';
import type { Category } from '../../operations/market/category.ts';
import type { GraphImageInput } from '../../operations/market/chart.ts';
import { type DealInput, type Deals, dealSelection } from '../../operations/market/deal.ts';
import { toUpstream } from '../../operations/market/finder-fields.ts';
import { dealsIn, type LightningDeal } from '../../operations/market/lightning-deal.ts';
import type { FinderPage, ProductFinderInput } from '../../operations/market/product-finder.ts';
import type { SearchOptions, SearchPage } from '../../operations/market/product-search.ts';
import type { Seller } from '../../operations/market/seller.ts';
import type { Domain } from '../../operations/params/domain.ts';
import { isRecord } from '../../operations/params/request.ts';
import type { ExactInteger } from '../../operations/params/scalars.ts';
import { productsIn } from '../../operations/products/product.ts';
import { madeFrom } from '../../results/cache.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

const BEST_SELLERS_COST = 50;

/** The field is absent if a category has no list. */
const LIST = { field: 'bestSellersList', kind: 'object', mayBeAbsent: true } as const;

/** Fetches the list of a category; null if it has none. */
export async function fetchBestSellers(
  keepa: KeepaTransport,
  { domain, category, range, variations, sublist }: BestSellersInput,
  context: CallContext,
): Promise<BestSellersList | null> {
  const params = {
    domain,
    category,
    // Upstream's switch is the inverse of ours: 1 means all variations.
    variations: variations ? 0 : 1,
    // Upstream refuses `range` together with `sublist`.
    ...(sublist ? { sublist: 1 } : { range }),
  };
  const answer = await keepa.json(
    { path: 'bestsellers', params, cost: BEST_SELLERS_COST, payload: LIST },
    context,
  );
  return madeFrom(answer, bestSellersIn(answer));
}

const CATEGORIES = { field: 'categories', kind: 'object', mayBeAbsent: false } as const;

/** Fetches up to ten categories by id; `parents` adds all categories up to the root. Unknown ids are absent. */
export async function fetchCategories(
  keepa: KeepaTransport,
  { domain, ids, parents }: { domain: Domain; ids: readonly ExactInteger[]; parents: boolean },
  context: CallContext,
): Promise<Record<string, Category>> {
  const params = { domain, category: ids.join(','), parents: Number(parents) };
  const { categories, categoryParents } = await keepa.json(
    { path: 'category', params, cost: 1, payload: CATEGORIES },
    context,
  );
  return { ...categoriesIn(categoryParents), ...categoriesIn(categories) };
}

/** Fetches the categories whose names contain all words of the term. */
export async function searchCategories(
  keepa: KeepaTransport,
  { domain, term }: { domain: Domain; term: string },
  context: CallContext,
): Promise<Record<string, Category>> {
  const params = { domain, type: 'category', term };
  const { categories } = await keepa.json({ path: 'search', params, cost: 1, payload: CATEGORIES }, context);
  return categoriesIn(categories);
}

function categoriesIn(value: unknown): Record<string, Category> {
  return isRecord(value) ? (value as Record<string, Category>) : {};
}

const DEALS_COST = 5;

/** Fetches one page of deals. */
export async function fetchDeals(
  keepa: KeepaTransport,
  selection: DealInput,
  context: CallContext,
): Promise<Deals> {
  const { deals } = await keepa.json(
    {
      path: 'deal',
      params: {},
      body: dealSelection(selection),
      cost: DEALS_COST,
      payload: { field: 'deals', kind: 'object', mayBeAbsent: false },
    },
    context,
  );
  return isRecord(deals) ? { ...deals, dr: deals.dr ?? [] } : { dr: [] };
}

/** Fetches one page of matching products. */
export async function findProducts(
  keepa: KeepaTransport,
  { domain, page, perPage, sort, stats, selection }: ProductFinderInput,
  context: CallContext,
): Promise<FinderPage> {
  const call = {
    path: 'query',
    params: { domain, ...(stats === 1 ? { stats } : {}) },
    body: { page, perPage, sort, ...toUpstream(selection) },
    cost: 10 + Math.ceil(perPage / 100) + (stats === 1 ? 30 : 0),
  };
  const { asinList, totalResults, searchInsights } = await keepa.json(call, context);
  return {
    asinList: Array.isArray(asinList) ? (asinList as string[]) : [],
    totalResults: typeof totalResults === 'number' ? totalResults : 0,
    searchInsights: stats === 1 ? (searchInsights ?? null) : null,
  };
}

/** Maps upstream's case-sensitive parameter names to ours, which are in lower case. */
const COLOURS = {
  cBackground: 'cbackground',
  cFont: 'cfont',
  cAmazon: 'cretailer',
  cNew: 'cnew',
  cUsed: 'cused',
  cSales: 'csales',
  cFBA: 'cfba',
  cFBM: 'cfbm',
  cBB: 'cbb',
  cLD: 'cld',
  cWD: 'cwd',
} as const satisfies Record<string, keyof GraphImageInput>;

/** Fetches upstream's picture, unchanged. */
export function fetchGraphImage(
  keepa: KeepaTransport,
  input: GraphImageInput,
  context: CallContext,
): Promise<Buffer> {
  const { domain, asin, range, width, height } = input;
  const colours = Object.entries(COLOURS).flatMap(([theirs, ours]) => {
    const colour = input[ours];
    return colour === undefined ? [] : [[theirs, colour] as const];
  });
  const curves = {
    amazon: input.retailer,
    new: input.new,
    used: input.used,
    salesrank: input.salesrank,
    bb: input.bb,
    fba: input.fba,
    fbm: input.fbm,
    ld: input.ld,
    wd: input.wd,
    yzoom: input.yzoom,
  };
  return keepa.picture(
    {
      path: 'graphimage',
      params: {
        domain,
        asin,
        range,
        width,
        height,
        ...Object.fromEntries(Object.entries(curves).map(([name, shown]) => [name, Number(shown)])),
        ...Object.fromEntries(colours),
      },
      cost: 1,
    },
    context,
  );
}

const LIGHTNING_DEALS_COST = 500;

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
      cost: asin === undefined ? LIGHTNING_DEALS_COST : 1,
      payload: { field: 'lightningDeals', kind: 'list', mayBeAbsent: asin !== undefined },
    },
    context,
  );
  return madeFrom(answer, dealsIn(answer));
}

const SEARCH_COST = 10;

/** Fetches one page of results, from 0, in the site's order. */
export async function searchProducts(
  keepa: KeepaTransport,
  options: SearchOptions & { page: string; update?: number | undefined },
  context: CallContext,
): Promise<SearchPage> {
  const { domain, term, page, asinsOnly, stats, history, rating, update } = {
    stats: undefined,
    history: false,
    rating: false,
    ...options,
  };
  const params = {
    domain,
    type: 'product',
    term,
    page,
    ...(asinsOnly ? { 'asins-only': 1 } : { history: Number(history) }),
    ...(stats === undefined ? {} : { stats }),
    ...(rating ? { rating: 1 } : {}),
    ...(update === 0 ? { update } : {}),
  };
  const answer = await keepa.json(
    {
      path: 'search',
      params,
      cost: SEARCH_COST,
      payload: { field: asinsOnly ? 'asinList' : 'products', kind: 'list', mayBeAbsent: false },
    },
    context,
  );
  if (asinsOnly) return { asinList: Array.isArray(answer.asinList) ? (answer.asinList as string[]) : [] };
  return { products: productsIn(answer) };
}

const SELLERS = { field: 'sellers', kind: 'object', mayBeAbsent: false } as const;
const IDS = { field: 'sellerIdList', kind: 'list', mayBeAbsent: false } as const;

const STOREFRONT_COST = 10;
const TOP_SELLERS_COST = 50;

/** Fetches sellers by id; unknown ones are absent. With a storefront upstream accepts only one id. */
export async function fetchSellers(
  keepa: KeepaTransport,
  domain: Domain,
  ids: readonly string[],
  storefront: boolean,
  context: CallContext,
): Promise<Map<string, Seller>> {
  const params = { domain, seller: ids.join(','), ...(storefront ? { storefront: 1 } : {}) };
  const cost = storefront ? STOREFRONT_COST : ids.length;
  const { sellers } = await keepa.json({ path: 'seller', params, cost, payload: SELLERS }, context);
  const known = isRecord(sellers) ? Object.entries(sellers) : [];
  return new Map(known.filter((entry): entry is [string, Seller] => isRecord(entry[1])));
}

/** Fetches the ids of a site's most rated sellers. */
export async function fetchTopSellers(
  keepa: KeepaTransport,
  domain: Domain,
  context: CallContext,
): Promise<string[]> {
  const call = { path: 'topseller', params: { domain }, cost: TOP_SELLERS_COST, payload: IDS };
  const { sellerIdList } = await keepa.json(call, context);
  return Array.isArray(sellerIdList) ? (sellerIdList as string[]) : [];
}
