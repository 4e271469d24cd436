import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { product as productRecord, responseShape, site } from '../answers.ts';
import { defineQueued, type Source } from '../define.ts';
import { DATE_RANGE_NAMES, dateRange, decode, hasHistoryTable, windowOf } from '../params/answer-form.ts';
import { DOMAIN_NAMES, type Domain, domain, SITES } from '../params/domain.ts';
import { ASIN_SCHEMA, list, PRODUCT_CODE_SCHEMA, parseAsin, parseProductCode } from '../params/lists.ts';
import { isRecord, request } from '../params/request.ts';
import { boolean, integer, oneOf } from '../params/scalars.ts';
import { decodeProduct, productFieldNeeds, readableProduct } from '../products/decode-product.ts';
import {
  atDetailLevel,
  DETAIL_HINTS,
  DETAIL_LEVELS,
  type Requested,
  SUMMARY_HAS_NO_HISTORY,
} from '../products/detail-level.ts';
import { cutHistory, type HistoryWindow, lastDays, limitOffers, withoutOffers } from '../products/history.ts';
import { hasData, oldestUpdate, type Product, productOf } from '../products/product.ts';
import { dailyTable, historyTable, offersTable, productTable } from '../products/product-tables.ts';
import { PROVIDER_PRODUCT_FIELDS } from '../products/provider-fields.ts';

/** What the provider is asked to return for each product. */
export interface ProductOptions {
  domain: Domain;
  /** The period of the statistics, in days. */
  stats: number;
  history: boolean;
  /** The number of offers. */
  offers: number;
  rating: boolean;
  buybox: boolean;
  stock: boolean;
}

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
  return asins.map((asin) => ({
    key: asin,
    identity: `${kind}/${domain}/${asin}/${optionsId}`,
    ...(kind === 'product' ? { read: productOf(asin) } : {}),
  }));
}

/** Returns one source for each code. Its data are the products with the code. */
function codeSources(codes: readonly string[], { domain, ...options }: ProductOptions): readonly Source[] {
  const optionsId = fingerprint(options);
  return codes.map((code) => ({ key: code, identity: `code/${domain}/${code}/${optionsId}` }));
}

/** What a product look-up asks for: either of the two. */
interface LookedUp {
  asins?: string[] | undefined;
  codes?: string[] | undefined;
}

/** Why an ASIN or a code could not be fetched. It is not charged. */
export const FETCH_ERRORS = ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'BUSY', 'CANCELLED'] as const;

export const LOOK_UP_ERRORS = ['PRODUCT_NOT_FOUND', 'PRODUCT_UNAVAILABLE', ...FETCH_ERRORS] as const;

/** An ASIN or a code without a product. */
export interface LookUpError {
  asin?: string;
  code?: string;
  errorId: (typeof LOOK_UP_ERRORS)[number];
}

export type FetchError = (typeof FETCH_ERRORS)[number];

export function isFetchError(errorId: string | undefined): errorId is FetchError {
  return FETCH_ERRORS.some((one) => one === errorId);
}

function fetchErrorsOf(data: Record<string, unknown>): FetchError[] {
  return (data.errors as LookUpError[]).map(({ errorId }) => errorId).filter(isFetchError);
}

/** Returns the ASINs or codes of a call. */
function keysOf({ asins, codes }: LookedUp): readonly string[] {
  return codes ?? asins ?? [];
}

/** Returns the answer to a look-up of a part of the ASINs or codes. */
function partOf(data: Record<string, unknown>, part: LookedUp): Record<string, unknown> {
  const keys = new Set(keysOf(part));
  const products = (data.products as { asin: string; codes?: string[] }[]).flatMap((product) => {
    if (!part.codes) return keys.has(product.asin) ? [product] : [];
    const codes = product.codes?.filter((code) => keys.has(code)) ?? [];
    return codes.length > 0 ? [{ ...product, codes }] : [];
  });
  const errors = (data.errors as LookUpError[]).filter(({ asin, code }) => keys.has(asin ?? code ?? ''));
  return { ...data, count: products.length, products, errors };
}

/** The provider returns an unknown ASIN without an element, or as an element of the type 4, which has no data. */
export function noDataError(product: Product | undefined): LookUpError['errorId'] {
  return product?.productType === 3 ? 'PRODUCT_UNAVAILABLE' : 'PRODUCT_NOT_FOUND';
}

/** Default period of statistics. They are free upstream and hold the current prices, so they are always fetched. */
export const DEFAULT_STATS_DAYS = 90;

/** Statistics over a longer period are the same, because no history is as long, and the provider may refuse it. */
export const LONGEST_STATS_DAYS = 10_000;

/** Maximum ASINs or codes in a call. */
const LARGEST_CALL = 100;

/** More products than these may take several megabytes: with its history, one takes up to 200 KB and more. */
export const MANY_PRODUCTS = 10;

/** The minimum number of offers that upstream collects. */
const FEWEST_OFFERS = 20;

/** What upstream has for a source: the product of an ASIN, or the products with a code. */
type Found = Product | readonly Product[];

const params = request(
  { domain: DOMAIN_NAMES, asins: ['asins', 'asin'], codes: ['codes', 'code'], dateRange: DATE_RANGE_NAMES },
  {
    domain: domain(),
    asins: list(
      { item: 'ASIN', max: LARGEST_CALL, schema: ASIN_SCHEMA, parse: parseAsin, sorted: true },
      '1-100 ASINs; duplicates count once. Required without codes',
      { unless: 'codes' },
    ),
    codes: list(
      {
        item: 'code',
        max: LARGEST_CALL,
        schema: PRODUCT_CODE_SCHEMA,
        parse: parseProductCode,
        sorted: true,
      },
      '1-100 UPC, EAN or ISBN codes, instead of asins; up to 5 products each',
      { required: false },
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
  .refine(({ asins, codes }) => asins !== undefined || codes !== undefined, {
    path: ['asins'],
    error: `is required: it must be 1 to ${LARGEST_CALL} ASINs, as a list or separated by commas; or send codes`,
    when: ({ value, issues }) => isRecord(value) && !issues.some(({ path }) => isLookedUp(path?.[0])),
  })
  .refine(({ asins, codes }) => asins === undefined || codes === undefined, {
    path: ['codes'],
    error: 'must not be sent with asins: send one of them',
  })
  .refine(({ detailLevel, days }) => detailLevel !== 'summary' || days === undefined, {
    path: ['days'],
    error: SUMMARY_HAS_NO_HISTORY,
  })
  .refine(({ detailLevel, dateRange }) => detailLevel !== 'summary' || dateRange === undefined, {
    path: ['dateRange'],
    error: SUMMARY_HAS_NO_HISTORY,
  })
  // Changes the object that the schema has made: copying the rest of an object takes half of the time of all other steps.
  .transform((input) =>
    Object.assign(input, {
      rating: input.rating ?? input.detailLevel === 'summary',
      days: input.dateRange ? undefined : input.days,
    }),
  );

type ProductInput = z.output<typeof params>;

export const product = defineQueued<'market.product', ProductInput, Found>({
  name: 'market.product',
  summary: 'Looks up 1 to 100 products by ASIN, or by UPC, EAN or ISBN.',
  tool: 'market_get_product',
  toolDefaults: { detailLevel: 'summary' },
  toolset: 'products',
  routes: [
    { method: 'GET', path: '/api/market/product' },
    { method: 'POST', path: '/api/market/product' },
  ],
  params,
  price: {
    text: '1 per ASIN or code',
    quote: (input) => keysOf(input).length,
    settle: (input, { data }) => keysOf(input).length - fetchErrorsOf(data).length,
  },
  partial: {
    failureOf(data) {
      const failed = fetchErrorsOf(data);
      const isAll = data.count === 0 && failed.length === (data.errors as LookUpError[]).length;
      return isAll ? (failed[0] ?? null) : null;
    },
  },
  pools: ['market'],
  isLarge: (input) => keysOf(input).length > MANY_PRODUCTS,
  freshness: 'update',
  updatedAt: (found) => oldestUpdate([found].flat()),
  source: (input) => {
    const options = upstreamOptions(input);
    return input.codes ? codeSources(input.codes, options) : productSources(keysOf(input), options);
  },
  bundle: { fields: ['asins', 'codes'], max: () => LARGEST_CALL, pick: partOf },
  toolData: (data) => readableRecords(data, 'products'),
  tables: {
    products: productTable(productsIn, {
      fetched: fetchedWith,
      lacks: ({ days, dateRange }) => (dateRange ? 'dateRange' : days === undefined ? null : 'days'),
    }),
    history: historyTable(productsIn, historyNeeds),
    daily: dailyTable(productsIn, historyNeeds),
    offers: offersTable(productsIn),
  },
  respond: {
    type: 'json',
    records: {
      path: 'products',
      ids: ['asin', 'codes'],
      providerFields: PROVIDER_PRODUCT_FIELDS,
      needs: (field, input: ProductInput) =>
        productFieldNeeds(field, input, [input.buybox || upstreamOptions(input).offers > 0, 'buybox=1']),
    },
    answer: z.object({
      ...site(),
      count: z.int().min(0).describe('Number of products found'),
      products: z.array(productRecord),
      errors: z
        .array(
          z.object({
            asin: z.string().optional().describe('In a look-up of ASINs'),
            code: z.string().optional().describe('In a look-up of codes'),
            errorId: z.enum(LOOK_UP_ERRORS),
          }),
        )
        .describe(
          'ASINs or codes for which no product was found, and those that could not be fetched, which are not charged',
        ),
      responseShape,
    }),
    present(found, input, { now, failures }) {
      const window = historyWindow(input, now);
      const { detailLevel, codes } = input;
      const products = new Map<string, Record<string, unknown>>();
      const errors: LookUpError[] = [];
      for (const key of keysOf(input)) {
        const failure = failures?.get(key);
        const all = [found.get(key) ?? []].flat();
        const known = isFetchError(failure) ? [] : all.filter(hasData);
        if (known.length === 0) {
          const errorId = isFetchError(failure) ? failure : noDataError(all[0]);
          errors.push(codes ? { code: key, errorId } : { asin: key, errorId });
        }
        for (const product of known) {
          const before = products.get(product.asin);
          if (before) (before.codes as string[]).push(key);
          else
            products.set(product.asin, {
              ...shown(product, input, window),
              ...(codes ? { codes: [key] } : {}),
            });
        }
      }
      return {
        data: {
          country: SITES[input.domain],
          domainId: input.domain,
          count: products.size,
          products: [...products].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, shown]) => shown),
          errors,
          responseShape: { detailLevel, hint: DETAIL_HINTS[detailLevel] },
        },
      };
    },
  },
});

/** Returns the data with its products as tools show them. */
export function readableRecords(
  data: Record<string, unknown>,
  name: 'products' | 'variations',
): Record<string, unknown> {
  const records = data[name];
  if (!Array.isArray(records)) return data;
  return { ...data, [name]: records.map((record) => readableProduct(record, data.domainId as Domain)) };
}

function isLookedUp(parameter: unknown): boolean {
  return parameter === 'asins' || parameter === 'codes';
}

function productsIn({ products }: Record<string, unknown>): readonly Product[] {
  return products as Product[];
}

/** Returns what the histories of an answer need, and the input lacks. */
function historyNeeds(input: ProductInput & { table?: string }): string | null {
  const { detailLevel, history, days, dateRange, decode } = input;
  if (detailLevel === 'summary') return 'detailLevel=lite or full';
  if (!history) return 'history=1';
  const isKept =
    detailLevel === 'full' || days !== undefined || dateRange || decode || hasHistoryTable(input);
  return isKept ? null : 'days, dateRange, decode=1 or detailLevel=full';
}

function fetchedWith({ rating, buybox, offers }: ProductInput): Pick<Requested, 'rating' | 'buybox'> {
  return { rating, buybox: buybox || offers > 0 };
}

/**
 * Returns the upstream options for each ASIN. Details, history and pages are cut later, so that calls share a fetch.
 * A rating costs up to one more upstream token a product, Buy Box data two, stock and offers more.
 */
export function upstreamOptions(input: ProductInput): ProductOptions {
  // Upstream collects stock with the offers only.
  const offers = input.offers === 0 && !input.stock ? 0 : Math.max(FEWEST_OFFERS, input.offers);
  return {
    domain: input.domain,
    stats: Math.min(input.stats ?? DEFAULT_STATS_DAYS, LONGEST_STATS_DAYS),
    history: input.history,
    offers,
    rating: input.rating,
    // With offers the Buy Box is free.
    buybox: input.buybox && offers === 0,
    stock: input.stock,
  };
}

function historyWindow(input: ProductInput, now: number): HistoryWindow | null {
  if (input.dateRange) return windowOf(input.dateRange);
  return input.days === undefined ? null : lastDays(input.days, now);
}

function shown(product: Product, input: ProductInput, window: HistoryWindow | null): Record<string, unknown> {
  const cut = window ? cutHistory(product, window) : product;
  const { detailLevel, offers, stock } = input;
  const wanted = offers > 0 ? limitOffers(cut, offers) : stock ? withoutOffers(cut) : cut;
  const atLevel = atDetailLevel(wanted, detailLevel, {
    csv: window !== null || (input.decode ?? false) || hasHistoryTable(input),
    ...fetchedWith(input),
  });
  return input.decode ? decodeProduct(atLevel as Product, input.domain) : atLevel;
}
