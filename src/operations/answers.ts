import { z } from 'zod';
import { FLUCTUATIONS, REPORT_SITE_CODES } from './brand-analytics/keywords.ts';
import { SITES } from './params/domain.ts';
import { DETAIL_LEVELS } from './products/detail-level.ts';
import { NAMED_SERIES } from './products/history.ts';

/**
 * Names of the schemas that the OpenAPI document lists as components. This registry is separate from zod's global one,
 * whose ids change the output of every other JSON Schema generator.
 */
export const SCHEMA_NAMES = z.registry<{ id: string }>();

/** Answer fields that name the site, by code and by number. */
export function site() {
  return {
    country: z.enum(Object.values(SITES)).describe('Site code'),
    domainId: z.literal(Object.keys(SITES).map(Number)).describe('Site number'),
  };
}

/** The position of a page in the full list. */
export const pagination = z
  .object({
    page: z.int().min(0).describe('Page, from 0'),
    perPage: z.int().min(1).describe('Entries per page'),
    total: z.int().min(0).describe('Entries in the full list'),
    totalPages: z.int().min(0),
  })
  .describe('Position of this page in the full list; absent if the request has neither page nor perPage')
  .register(SCHEMA_NAMES, { id: 'Pagination' });

// Schemas of product values, in the units of the interface. The provider may omit any of them, or send null.

/** A price in cents; for the site JP in whole yen. */
export function price(of: string) {
  return z.number().describe(`${of} in cents (for JP in whole yen); -1: no data`);
}

/** A time in the provider's index minutes. */
export function indexTime(of: string) {
  return z.number().describe(`${of}, in index minutes; Unix milliseconds are (t + 21564000) * 60000`);
}

export function stars(of: string) {
  return z.number().describe(`${of}, stars x 10 (45 means 4.5 stars); -1: no data`);
}

export function amount(of: string) {
  return z.number().describe(`${of}; -1: no data`);
}

export function words(of: string) {
  return z.string().describe(of);
}

/** A list of histories: one for each type of value, with alternating index times and values. */
export function series(of: string) {
  return z.array(z.array(z.number()).nullable()).describe(of);
}

/** An id of the provider. Some ids exceed 2^53, so clients need a JSON parser that keeps large integers. */
export function largeId(of: string) {
  return z.number().meta({ type: 'integer', format: 'int64', description: `${of}; may exceed 2^53` });
}

// Schemas of decoded products. Lists of a history are columns: entries at the same position belong together.

const UNITS = {
  price: 'in the currency of the site',
  count: 'as a number',
  stars: 'in stars',
} as const;

const time = z.array(z.iso.datetime()).describe('Times of the changes, oldest first');

const namedSeries = z
  .looseObject({
    time,
    value: z.array(z.number().nullable()).describe('Values from these times on; null: no data').optional(),
    shipping: z
      .array(z.number().nullable())
      .optional()
      .describe(
        'Shipping of the offers, in addition to their price in value; only in series of prices with shipping',
      ),
  })
  .register(SCHEMA_NAMES, { id: 'Series' });

const byName = z
  .object(
    Object.fromEntries(
      NAMED_SERIES.map(({ name, kind, description }) => [
        name,
        namedSeries.optional().describe(`${description}, ${UNITS[kind]}`),
      ]),
    ),
  )
  .catchall(z.unknown());

/** The histories of a product by name. */
export const history = byName
  .extend({
    salesRanks: z.record(z.string(), namedSeries).optional().describe('Sales ranks by category id'),
    monthlySold: namedSeries.optional().describe('Units sold in the past month'),
  })
  .describe('Histories by name; only with decode=1')
  .register(SCHEMA_NAMES, { id: 'History' });

/** Numbers of a statistic by the name of their series. A series without data is absent. */
const values = z
  .object(
    Object.fromEntries(
      NAMED_SERIES.map(({ name, kind, description }) => [
        name,
        z.number().optional().describe(`${description}, ${UNITS[kind]}`),
      ]),
    ),
  )
  .register(SCHEMA_NAMES, { id: 'ValuesBySeries' });

export const statistics = z
  .looseObject({
    current: values.optional(),
    avg: values.optional(),
    avg30: values.optional(),
    avg90: values.optional(),
    avg180: values.optional(),
    avg365: values.optional(),
  })
  .describe('Statistics by name of the statistic and of the series; only with decode=1')
  .register(SCHEMA_NAMES, { id: 'StatisticsBySeries' });

// Schemas of brand-analytics answers about search terms. Dates are Saturdays, YYYY-MM-DD; shares are percent.

export const reportSiteCode = z.enum(REPORT_SITE_CODES);

export const reportDate = z.iso.date().describe('Saturday of a week');

export const wordId = z.int().describe('Id of the search term');

export const fluctuation = z
  .enum(FLUCTUATIONS)
  .nullable()
  .describe('Change of the rank since the previous week; null if that week is not loaded');

const share = z.number().nullable().describe('Percent; null if blank in the report');

/** One of the three most-clicked products of a search term. */
export const goods = z
  .object({
    position: z.int().min(1).max(3),
    asin: z.string(),
    title: z.string().nullable(),
    brand: z.string().nullable(),
    imageUrl: z.string().nullable(),
    clickShare: share,
    conversionShare: share,
  })
  .register(SCHEMA_NAMES, { id: 'KeywordGoods' });

/** The rank of a search term in one week. */
export const rankRow = z
  .object({
    wordId,
    keyword: z.string(),
    rank: z.int(),
    lastRank: z.int().nullable().describe('Rank in the previous week'),
    rankChange: z.int().nullable().describe('Change in places since the previous week; positive is better'),
    rankChangeRate: z.number().nullable().describe('rankChange divided by lastRank'),
    rank4w: z.int().nullable().describe('Rank four weeks earlier'),
    rankChange4w: z.int().nullable(),
    fluctuationType: fluctuation,
    brands: z.array(z.string()).describe('Up to three brands, most clicked first'),
    categories: z.array(z.string()).describe('Up to three categories, most clicked first'),
    clickShareSum: z.number().describe('Sum of the three products, in percent'),
    convShareSum: z
      .number()
      .nullable()
      .describe('Sum of the three products, in percent; null if all are blank'),
    goods: z.array(goods),
  })
  .register(SCHEMA_NAMES, { id: 'KeywordRank' });

const week = z.object({
  reportDate,
  rank: z
    .int()
    .nullable()
    .describe('null if the term was not ranked in that week; then the other values are null, too'),
  rankChange: z.int().nullable(),
  clickShareSum: z.number().nullable(),
  convShareSum: z.number().nullable(),
});

const LOADED_WEEKS = 'Loaded weeks, oldest first';

/** The rank history of a search term, with one entry for each loaded week. */
export const rankHistory = z
  .array(week.register(SCHEMA_NAMES, { id: 'KeywordHistoryEntry' }))
  .describe(LOADED_WEEKS);

/** The rank history of a search term with the shares of the three most-clicked products of each week. */
export const shareHistory = z
  .array(
    week
      .extend({
        goods: z.array(goods.pick({ position: true, asin: true, clickShare: true, conversionShare: true })),
      })
      .register(SCHEMA_NAMES, { id: 'KeywordHistoryWeek' }),
  )
  .describe(LOADED_WEEKS);

/** A category. Fields without a description are passed on as the provider sends them. */
export const category = z
  .looseObject({
    catId: largeId('Category node id'),
    name: words('Name').nullish(),
    children: z.array(largeId('Category node id')).nullish().describe('Direct subcategories'),
    parent: largeId('Parent category; 0 for a root').nullish(),
  })
  .describe('A category')
  .register(SCHEMA_NAMES, { id: 'Category' });

/** Current values by name, for the detail level `summary`. */
const named = {
  price: price('Lowest new price'),
  amazonPrice: price("The retailer's own price"),
  listPrice: price('List price'),
  buyboxPrice: price('Buy Box price with shipping'),
  bsr: amount('Sales rank'),
  rating: stars('Rating'),
  reviewCount: amount('Number of reviews'),
  countNew: amount('Number of new offers'),
};

/** Fields that products and variations share. Each detail level returns some of them. */
const shown = {
  asin: words('ASIN'),
  parentAsin: words('ASIN of the parent; null for a product without variations').nullish(),
  title: words('Title').nullish(),
  monthlySold: amount('Units sold in the past month').nullish(),
  lastUpdate: indexTime('When the provider last updated the product').nullish(),
  history: history.optional(),
  statistics: statistics.optional(),
};

/** A product. Fields without a description are passed on as the provider sends them. */
export const product = z
  .looseObject({
    ...shown,
    brand: words('Brand').nullish(),
    domainId: z.int().optional().describe('Site number'),
    csv: series(
      'Histories: one list for each type of value, with alternating index times and values; at detailLevel=full, and at lite if a part of the history is requested',
    ).nullish(),
    salesRanks: z
      .record(z.string(), z.array(z.number()).nullable())
      .nullish()
      .describe('Histories of sales ranks by category id; only at detailLevel=full'),
    variationCSV: words(
      'ASINs of the variation family, separated by commas; only at detailLevel=full',
    ).nullish(),
    stats: z
      .looseObject({})
      .nullish()
      .describe('Statistics; not at detailLevel=summary, which has the current values by name'),
    variationsCount: z.int().optional().describe('Number of members of the family; only at detailLevel=lite'),
    ...z.object(named).partial().shape,
    image: words('File name of the first image; only at detailLevel=summary').nullish(),
    codes: z
      .array(z.string())
      .optional()
      .describe('The requested codes that the product has; only with codes'),
  })
  .describe('A product; detailLevel selects its fields')
  .register(SCHEMA_NAMES, { id: 'Product' });

/** A member of a variation family. */
export const variation = z
  .looseObject({
    ...shown,
    color: words('Colour').nullish(),
    size: words('Size').nullish(),
    swatchImage: words('File name of the small image').nullish(),
    imagesCSV: words('File names of the images, separated by commas').nullish(),
    stats: z
      .looseObject(z.object(named).partial().shape)
      .nullish()
      .describe("At the level summary, current values by name; otherwise the provider's statistics"),
    upcList: z.array(z.string()).optional().describe('UPC codes, if any'),
    eanList: z.array(z.string()).optional().describe('EAN codes, if any'),
    gtinList: z.array(z.string()).optional().describe('GTIN codes, if any'),
  })
  .describe('A member of a variation family')
  .register(SCHEMA_NAMES, { id: 'Variation' });

/** Describes which fields of the products were left out. */
export const responseShape = z.object({
  detailLevel: z.enum(DETAIL_LEVELS),
  hint: words('Which fields the level omits, and how to get them'),
});
