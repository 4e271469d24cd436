import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { product as productRecord, responseShape } from '../answers/product.ts';
import { site } from '../answers/site.ts';
import { defineQueued, type Source } from '../define.ts';
import { decode } from '../params/decode.ts';
import { DOMAIN_NAMES, type Domain, domain, SITES } from '../params/domain.ts';
import { DATE_RANGE_NAMES, dateRange, windowOf } from '../params/history.ts';
import { ASIN_SCHEMA, list, parseAsin } from '../params/lists.ts';
import { request } from '../params/request.ts';
import { boolean, integer, oneOf } from '../params/scalars.ts';
import { cutHistory } from '../products/cut-history.ts';
import { decodeProduct } from '../products/decode-product.ts';
import {
  atDetailLevel,
  DETAIL_HINTS,
  DETAIL_LEVELS,
  type DetailLevel,
  SUMMARY_FIELDS,
  SUMMARY_HAS_NO_HISTORY,
  summaryRow,
} from '../products/detail-level.ts';
import { type HistoryWindow, lastDays } from '../products/history-window.ts';
import { limitOffers, withoutOffers } from '../products/offers.ts';
import { hasData, type Product, productUpdatedAt } from '../products/product.ts';

export interface ProductInput {
  domain: Domain;
  /** Upper case, unique, sorted. */
  asins: string[];
  stats?: number | undefined;
  history: boolean;
  update?: number | undefined;
  offers: number;
  rating: boolean;
  buybox: boolean;
  stock: boolean;
  days?: number | undefined;
  dateRange?: { start: number; end: number } | undefined;
  detailLevel: DetailLevel;
  decode?: boolean | undefined;
}

/** Default period of statistics. They are free upstream and hold the current prices, so they are always fetched. */
export const DEFAULT_STATS_DAYS = 90;

/** Maximum ASINs in a call. */
const LARGEST_CALL = 100;

/** The minimum number of offers that upstream collects. */
const FEWEST_OFFERS = 20;

/** Why an ASIN could not be fetched. It is not charged. */
const FETCH_ERRORS = ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'BUSY', 'CANCELLED'] as const;

const ASIN_ERRORS = ['PRODUCT_NOT_FOUND', 'PRODUCT_UNAVAILABLE', ...FETCH_ERRORS] as const;

interface AsinError {
  asin: string;
  errorId: (typeof ASIN_ERRORS)[number];
}

type FetchError = (typeof FETCH_ERRORS)[number];

function isFetchError(errorId: string | undefined): errorId is FetchError {
  return FETCH_ERRORS.some((one) => one === errorId);
}

function fetchErrorsOf(data: Record<string, unknown>): FetchError[] {
  return (data.errors as AsinError[]).map(({ errorId }) => errorId).filter(isFetchError);
}

export const product = defineQueued<'market.product', ProductInput, Product>({
  name: 'market.product',
  summary: 'Looks up 1 to 100 products by ASIN.',
  tool: 'market_get_product',
  toolDefaults: { detailLevel: 'summary' },
  toolset: 'products',
  routes: [
    { method: 'GET', path: '/api/market/product' },
    { method: 'POST', path: '/api/market/product' },
  ],
  params: request(
    { domain: DOMAIN_NAMES, asins: ['asins', 'asin'], dateRange: DATE_RANGE_NAMES },
    {
      domain: domain(),
      asins: list(
        { item: 'ASIN', max: LARGEST_CALL, schema: ASIN_SCHEMA, parse: parseAsin, sorted: true },
        '1-100 ASINs; duplicates count once',
      ),
      stats: integer({ min: 1 }).optional().describe('Include price statistics over this many days'),
      history: boolean()
        .default(true)
        .describe('Include the price history: at detailLevel=full, and at lite with days or dateRange'),
      update: integer({ min: 0 })
        .optional()
        .describe("Maximum hours since the provider's last update; 0: fetch again"),
      offers: integer({ min: 0, max: 100 }).default(0).describe('Number of offers to include'),
      rating: boolean()
        .optional()
        .describe('Include rating and review count, and their history. Default: true at detailLevel=summary'),
      buybox: boolean().default(false).describe('Include Buy Box data'),
      stock: boolean()
        .default(false)
        .describe('Include the stock of the retailer and of the Buy Box seller in stats'),
      days: integer({ min: 1 })
        .optional()
        .describe('Return the last N days of history, also at detailLevel=lite; dateRange takes precedence'),
      dateRange: dateRange(),
      detailLevel: oneOf(DETAIL_LEVELS)
        .default('lite')
        .describe('Fields: summary has core values, lite omits large histories, full has all'),
      decode: decode(),
    },
  )
    .refine(({ detailLevel, days }) => detailLevel !== 'summary' || days === undefined, {
      path: ['days'],
      error: SUMMARY_HAS_NO_HISTORY,
    })
    .refine(({ detailLevel, dateRange }) => detailLevel !== 'summary' || dateRange === undefined, {
      path: ['dateRange'],
      error: SUMMARY_HAS_NO_HISTORY,
    })
    .transform(({ days, rating, ...input }) => ({
      ...input,
      rating: rating ?? input.detailLevel === 'summary',
      days: input.dateRange ? undefined : days,
    })),
  price: {
    text: '1 per ASIN',
    quote: ({ asins }) => asins.length,
    settle: ({ asins }, { data }) => asins.length - fetchErrorsOf(data).length,
  },
  partial: {
    failureOf(data) {
      const failed = fetchErrorsOf(data);
      const isAll = data.count === 0 && failed.length === (data.errors as AsinError[]).length;
      return isAll ? (failed[0] ?? null) : null;
    },
  },
  pools: ['market'],
  queue: () => 'market',
  freshness: 'update',
  updatedAt: productUpdatedAt,
  source: (input) => productSources(input.asins, upstreamOptions(input)),
  pack: {
    field: 'asins',
    max: () => LARGEST_CALL,
    pick(data, { asins }) {
      const ofPart = new Set(asins);
      const pick = (records: unknown) =>
        (records as { asin: string }[]).filter(({ asin }) => ofPart.has(asin));
      const products = pick(data.products);
      return { ...data, count: products.length, products, errors: pick(data.errors) };
    },
  },
  table: { columns: () => SUMMARY_FIELDS, rows: ({ products }) => (products as Product[]).map(summaryRow) },
  respond: {
    type: 'json',
    records: { path: 'products', id: 'asin' },
    answer: z.object({
      ...site(),
      count: z.int().min(0).describe('Number of products found'),
      products: z.array(productRecord),
      errors: z
        .array(z.object({ asin: z.string(), errorId: z.enum(ASIN_ERRORS) }))
        .describe(
          'ASINs for which no product was found, and ASINs that could not be fetched, which are not charged',
        ),
      responseShape,
    }),
    present(found, input, { now, failures }) {
      const window = historyWindow(input, now);
      const products: Record<string, unknown>[] = [];
      const errors: AsinError[] = [];
      for (const asin of input.asins) {
        const product = found.get(asin);
        const failure = failures?.get(asin);
        if (isFetchError(failure)) errors.push({ asin, errorId: failure });
        else if (!product || !hasData(product)) errors.push({ asin, errorId: noDataError(product) });
        else products.push(shown(product, input, window));
      }
      const { detailLevel } = input;
      return {
        data: {
          country: SITES[input.domain],
          domainId: input.domain,
          count: products.length,
          products,
          errors,
          responseShape: { detailLevel, hint: DETAIL_HINTS[detailLevel] },
        },
      };
    },
  },
});

/** The provider returns an unknown ASIN without an element, or as an element of the type 4, which has no data. */
function noDataError(product: Product | undefined): AsinError['errorId'] {
  return product?.productType === 3 ? 'PRODUCT_UNAVAILABLE' : 'PRODUCT_NOT_FOUND';
}

/**
 * Returns the upstream options for each ASIN. Details, history and pages are cut later, so that calls share a fetch.
 * A rating costs up to one more upstream token a product, Buy Box data two, stock and offers more.
 */
export function upstreamOptions(input: ProductInput) {
  // Upstream collects stock with the offers only.
  const offers = input.offers === 0 && !input.stock ? 0 : Math.max(FEWEST_OFFERS, input.offers);
  return {
    domain: input.domain,
    stats: input.stats ?? DEFAULT_STATS_DAYS,
    history: input.history,
    offers,
    rating: input.rating,
    // With offers the Buy Box is free.
    buybox: input.buybox && offers === 0,
    stock: input.stock,
  };
}

export type ProductOptions = ReturnType<typeof upstreamOptions>;

/**
 * Returns one source for each ASIN. All operations that need a product with the same options share its fetch.
 * @param kind `member` for a product without the list of its family.
 */
export function productSources(
  asins: readonly string[],
  { domain, ...options }: ProductOptions,
  kind: 'product' | 'member' = 'product',
): readonly Source[] {
  const optionsId = fingerprint(options);
  return asins.map((asin) => ({ key: asin, identity: `${kind}/${domain}/${asin}/${optionsId}` }));
}

function historyWindow(input: ProductInput, now: number): HistoryWindow | null {
  if (input.dateRange) return windowOf(input.dateRange);
  return input.days === undefined ? null : lastDays(input.days, now);
}

function shown(product: Product, input: ProductInput, window: HistoryWindow | null): Record<string, unknown> {
  const cut = window ? cutHistory(product, window) : product;
  const { detailLevel, offers, rating, stock } = input;
  const wanted = offers > 0 ? limitOffers(cut, offers) : stock ? withoutOffers(cut) : cut;
  const atLevel = atDetailLevel(wanted, detailLevel, {
    csv: window !== null || (input.decode ?? false),
    rating,
    buybox: input.buybox || offers > 0,
  });
  return input.decode ? decodeProduct(atLevel as Product, input.domain) : atLevel;
}
