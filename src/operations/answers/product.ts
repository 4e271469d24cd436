import { z } from 'zod';
import { DETAIL_LEVELS } from '../products/detail-level.ts';
import { history, statistics } from './history.ts';
import { amount, indexTime, price, series, stars, words } from './measures.ts';
import { SCHEMA_NAMES } from './schema-names.ts';

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
