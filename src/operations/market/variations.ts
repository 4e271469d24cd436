import { z } from 'zod';
import { pagination, site, variation } from '../answers.ts';
import { defineQueued } from '../define.ts';
import { decode } from '../params/answer-form.ts';
import { DOMAIN_NAMES, type Domain, domain, SITES } from '../params/domain.ts';
import { pageOf, requiredAsin } from '../params/lists.ts';
import { request } from '../params/request.ts';
import { integer, oneOf } from '../params/scalars.ts';
import { decodedFieldNeeds, decodeProduct } from '../products/decode-product.ts';
import { DETAIL_LEVELS } from '../products/detail-level.ts';
import { familyOf, type Product } from '../products/product.ts';
import { dailyTable, historyTable, variationTable } from '../products/product-tables.ts';
import { PROVIDER_PRODUCT_FIELDS, variationRecord } from '../products/provider-fields.ts';
import {
  DEFAULT_STATS_DAYS,
  MANY_PRODUCTS,
  type ProductOptions,
  productSources,
  readableRecords,
} from './product.ts';

const params = request(
  { domain: DOMAIN_NAMES, asin: ['asin'] },
  {
    domain: domain(),
    asin: requiredAsin(),
    detailLevel: oneOf(DETAIL_LEVELS)
      .default('full')
      .describe('Fields: summary has core values, lite omits price histories, full has all'),
    page: integer({ min: 0 }).default(0).describe('Page, from 0'),
    perPage: integer({ min: 1, max: 4000 }).default(1000).describe('Variations per page'),
    decode: decode(),
  },
);

type VariationsInput = z.output<typeof params>;

export const variations = defineQueued<'market.variations', VariationsInput, Product>({
  name: 'market.variations',
  summary: 'Lists the variations of a product, from any member of the family.',
  tool: 'market_get_variations',
  toolset: 'products',
  toolDefaults: { detailLevel: 'summary', perPage: 50 },
  errors: ['PRODUCT_NOT_FOUND'],
  routes: [
    { method: 'GET', path: '/api/market/variations' },
    { method: 'POST', path: '/api/market/variations' },
  ],
  params,
  price: {
    text: '5, or 1 if the product has no variations',
    quote: () => 5,
    settle: (_input, { data }) => (data.isStandalone ? 1 : 5),
  },
  pools: ['market'],
  isLarge: ({ perPage }) => perPage > MANY_PRODUCTS,
  source: ({ domain, asin }) => productSources([asin], familyOptions(domain)),
  toolData: (data) => readableRecords(data, 'variations'),
  tables: {
    products: variationTable(variationsIn),
    history: historyTable(variationsIn, historyNeeds),
    daily: dailyTable(variationsIn, historyNeeds),
  },
  respond: {
    type: 'json',
    records: {
      path: 'variations',
      ids: ['asin'],
      providerFields: PROVIDER_PRODUCT_FIELDS,
      needs: (field, { decode, detailLevel }: VariationsInput) =>
        decodedFieldNeeds(field, [
          ['decoded', decode, 'decode=1'],
          ['history', detailLevel !== 'summary', 'detailLevel=full'],
          ['csv', detailLevel === 'full', 'detailLevel=full'],
        ]),
    },
    answer: z.object({
      ...site(),
      inputAsin: z.string().describe('The ASIN that was sent'),
      parentAsin: z.string().nullable().describe('ASIN of the parent; null without variations'),
      isStandalone: z.boolean().describe('Whether the product has no variations'),
      variationsCount: z.int().min(0).describe('Number of variations in the family'),
      variations: z.array(variation).describe('Variations of this page'),
      _pagination: pagination.optional(),
      responseShape: z.object({ detailLevel: z.enum(DETAIL_LEVELS) }),
    }),
    present(found, input) {
      const { domain, asin, detailLevel } = input;
      const asked = found.get(familyKey(asin)) ?? { asin };
      const { parentAsin, members } = familyOf(asked, found.get(familyKey(asked.parentAsin ?? '')));
      const page = pageOf(members.length, input);
      const shown = page ? page.cut(members) : members;
      const isWhole = input.page === 0 && shown.length === members.length;
      return {
        data: {
          country: SITES[domain],
          domainId: domain,
          inputAsin: asin,
          parentAsin,
          isStandalone: parentAsin === null,
          variationsCount: members.length,
          variations: shown.map((member) => {
            const record = variationRecord(member, found.get(member.asin), parentAsin, detailLevel);
            return input.decode ? decodeProduct(record as Product, domain) : record;
          }),
          ...(isWhole ? {} : { _pagination: page?.pagination }),
          responseShape: { detailLevel },
        },
      };
    },
  },
});

function variationsIn({ variations }: Record<string, unknown>): readonly Product[] {
  return variations as Product[];
}

function historyNeeds({ detailLevel }: VariationsInput): string | null {
  return detailLevel === 'full' ? null : 'detailLevel=full';
}

/** Returns the upstream options of the product that lists the family. It costs one token. */
export function familyOptions(domain: Domain): ProductOptions {
  const options = { history: false, offers: 0, rating: false, buybox: false, stock: false };
  return { domain, stats: DEFAULT_STATS_DAYS, ...options };
}

/**
 * Returns the upstream options for each member. Every level has ratings and the Buy Box, which cost up to three tokens alongside
 * the one of the product. The history costs no token and is most of the data; `summary` has none.
 */
export function memberOptions({ domain, detailLevel }: VariationsInput): ProductOptions {
  return { ...familyOptions(domain), history: detailLevel !== 'summary', rating: true, buybox: true };
}

/** The key of a product that was fetched for its family. Members have their ASINs as keys. */
export function familyKey(asin: string): string {
  return `family/${asin}`;
}
