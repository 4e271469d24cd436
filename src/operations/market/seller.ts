import { z } from 'zod';
import { indexTime, pagination, SCHEMA_NAMES, series, site, words } from '../answers.ts';
import { defineQueued } from '../define.ts';
import { DOMAIN_NAMES, domain, SITES } from '../params/domain.ts';
import { completePaging, list, pageOf, paging } from '../params/lists.ts';
import { Fault, type JsonSchema, request } from '../params/request.ts';
import { boolean, integer } from '../params/scalars.ts';
import { amount, columnsOf, isoTime, isoTimes } from '../products/decode-product.ts';
import { cutSeries, lastDays } from '../products/history.ts';
import { PROVIDER_SELLER_FIELDS } from '../products/provider-fields.ts';
import { columnsFrom, type Row } from '../tables/columns.ts';

/** A seller as upstream sends it. The two storefront lists are parallel. */
export interface Seller {
  sellerId: string;
  csv?: Csv;
  asinList?: string[] | null;
  asinListLastSeen?: number[] | null;
  [field: string]: unknown;
}

const SELLER_SCHEMA: JsonSchema = {
  type: 'string',
  pattern: '^[A-Za-z0-9]{10,20}$',
  minLength: 10,
  maxLength: 20,
  examples: ['A2L77EE7U53NWQ'],
};

/** Maximum seller ids in a call. */
const LARGEST_CALL = 100;

const sellerRecord = z
  .looseObject({
    sellerId: words('Seller id'),
    sellerName: words('Name').nullish(),
    hasFBA: z.boolean().nullish().describe('Whether the marketplace fulfils orders for this seller'),
    ratingCount: z
      .array(z.number())
      .nullish()
      .describe('Number of ratings in the last 30 days, 90 days, 365 days, and in total'),
    positiveRating: z
      .array(z.number())
      .nullish()
      .describe('Percentage of positive ratings in the same periods'),
    csv: series('Histories of the rating and of the number of ratings, for the last csvDays days').nullish(),
    asinList: z.array(z.string()).nullish().describe('ASINs of the storefront; only with storefront'),
    asinListLastSeen: z
      .array(indexTime('When the ASIN at the same position was last seen'))
      .nullish()
      .describe('Only with storefront'),
    _pagination: pagination.optional(),
  })
  .describe('A seller; fields without a description are passed on as the provider sends them')
  .register(SCHEMA_NAMES, { id: 'Seller' });

const STOREFRONT_COLUMNS = columnsFrom({
  sellerId: ['text', 'Id of the seller'],
  country: ['text', 'Site code, such as us'],
  asin: ['text', 'ASIN of an offer of the seller'],
  lastSeen: ['time', 'When the provider last saw the offer'],
});

const SELLER_COLUMNS = columnsFrom({
  sellerId: ['text', 'Id of the seller'],
  country: ['text', 'Site code, such as us'],
  sellerName: ['text', 'Name'],
  hasFBA: ['boolean', 'Whether the marketplace fulfils orders for this seller'],
  currentRating: ['integer', 'Positive ratings, in percent'],
  currentRatingCount: ['integer', 'Number of ratings'],
  ratingsLast30Days: ['integer', 'Number of ratings in the last 30 days'],
  positiveRating: ['integer', 'Positive ratings of the whole time, in percent'],
  lastUpdate: ['time', 'When the provider last updated the seller'],
});

const params = request(
  { domain: DOMAIN_NAMES, seller: ['seller'] },
  {
    domain: domain(),
    seller: list(
      { item: 'seller id', max: LARGEST_CALL, schema: SELLER_SCHEMA, parse: parseSellerId, sorted: true },
      '1-100 seller ids, or one with storefront; duplicates count once',
    ),
    storefront: boolean().default(false).describe('Include the ASINs of the storefront; one seller only'),
    update: integer({ min: 0 })
      .optional()
      .describe('Maximum age of the storefront in hours; 0: fetch it again'),
    csvDays: integer({ min: -1 }).default(-1).describe('Days of history in csv; -1: all, 0: none'),
    ...paging(),
  },
)
  .refine(({ seller, storefront }) => !storefront || seller.length === 1, {
    path: ['seller'],
    error: ({ input }) =>
      `must be one seller id with storefront, got ${(input as { seller: string[] }).seller.length}`,
  })
  .transform((input) => completePaging({ ...input, update: input.storefront ? input.update : undefined }));

type SellerInput = z.output<typeof params>;

export const seller = defineQueued({
  name: 'market.seller',
  summary: 'Returns sellers, or one seller with its storefront.',
  tool: 'market_get_seller',
  toolset: 'sellers',
  routes: [{ method: 'GET', path: '/api/market/seller' }],
  params,
  price: {
    text: '1 per seller id, 10 with storefront',
    quote: ({ seller, storefront }) => (storefront ? 10 : seller.length),
  },
  pools: ['market', 'storefront'],
  queue: ({ storefront }) => (storefront ? 'storefront' : 'market'),
  isLarge: ({ storefront }) => storefront,
  freshness: 'update',
  source: ({ domain, seller, storefront }) =>
    seller.map((id) => ({ key: id, identity: `seller/${domain}/${id}/${Number(storefront)}` })),
  toolData(data) {
    const sellers = Object.values(data.sellers as Record<string, Seller>).map(readableSeller);
    return { ...data, sellers, ratingPeriods: ['30 days', '90 days', '365 days', 'all'] };
  },
  bundle: {
    fields: ['seller'],
    max: ({ storefront }) => (storefront ? 1 : LARGEST_CALL),
    pick(data, { seller }) {
      const known = data.sellers as Record<string, unknown>;
      const ofPart = seller.filter((id) => known[id] !== undefined);
      return { ...data, sellers: Object.fromEntries(ofPart.map((id) => [id, known[id]])) };
    },
  },
  tables: {
    storefront: {
      needs: ({ storefront }) => (storefront ? null : 'storefront=1'),
      columns: () => STOREFRONT_COLUMNS,
      *rows({ sellers, country }) {
        for (const one of Object.values(sellers as Record<string, Seller>))
          yield* storefrontRows(one, country);
      },
    },
    sellers: {
      columns: () => SELLER_COLUMNS,
      *rows({ sellers, country }) {
        for (const { positiveRating, ...one } of Object.values(sellers as Record<string, Seller>))
          yield {
            ...one,
            country,
            positiveRating: (positiveRating as number[] | null | undefined)?.at(-1),
            ...isoTimes(one, ['lastUpdate']),
          };
      },
    },
  },
  respond: {
    type: 'json',
    records: { path: 'sellers', providerFields: PROVIDER_SELLER_FIELDS },
    answer: z.object({
      ...site(),
      sellers: z.record(z.string(), sellerRecord).describe('Sellers by id; unknown sellers are absent'),
    }),
    present(found: ReadonlyMap<string, Seller>, input, { now }) {
      const { domain } = input;
      const known = input.seller.flatMap((id) => found.get(id) ?? []);
      const sellers = Object.fromEntries(known.map((record) => [record.sellerId, shown(record, input, now)]));
      return { data: { country: SITES[domain], domainId: domain, sellers } };
    },
  },
});

/** Parses a seller id: 10 to 20 letters or digits, in upper case. */
function parseSellerId(item: string): string | Fault {
  const id = item.toUpperCase();
  return /^[A-Z0-9]{10,20}$/.test(id) ? id : new Fault('must be 10 to 20 letters or digits');
}

function* storefrontRows({ sellerId, asinList, asinListLastSeen }: Seller, country: unknown): Generator<Row> {
  for (const [i, asin] of (asinList ?? []).entries()) {
    const seen = asinListLastSeen?.[i];
    yield { sellerId, country, asin, lastSeen: seen === undefined ? null : isoTime(seen) };
  }
}

function shown(record: Seller, input: SellerInput, now: number): Seller {
  const { csv, asinList, asinListLastSeen, ...rest } = record;
  const result: Seller = rest as Seller;
  if (csv !== undefined && input.csvDays !== 0) result.csv = cutCsv(csv, input.csvDays, now);
  if (!asinList) return result;
  const page = pageOf(asinList.length, input);
  result.asinList = page ? page.cut(asinList) : asinList;
  if (asinListLastSeen) result.asinListLastSeen = page ? page.cut(asinListLastSeen) : asinListLastSeen;
  if (page) result._pagination = page.pagination;
  return result;
}

type Csv = (number[] | null)[] | null;

/** Returns a seller with named histories and ISO times, without the fields that are null. */
function readableSeller({ csv, asinListLastSeen, ...record }: Seller): Record<string, unknown> {
  const [rating, ratingCount] = (csv ?? []).map((series) => series && columnsOf(series, [['value', amount]]));
  const all = {
    ...record,
    ...isoTimes(record, ['trackedSince', 'trackingSince', 'lastUpdate', 'lastRatingUpdate']),
  };
  return {
    ...Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)),
    ...(asinListLastSeen
      ? { asinListLastSeen: asinListLastSeen.map((time) => isoTime(time).slice(0, 10)) }
      : {}),
    ...(csv ? { history: { ...(rating ? { rating } : {}), ...(ratingCount ? { ratingCount } : {}) } } : {}),
  };
}

function cutCsv(csv: Csv, days: number, now: number): Csv {
  if (!csv || days < 0) return csv;
  const window = lastDays(days, now);
  return csv.map((series) => series && cutSeries(series, 2, window));
}
