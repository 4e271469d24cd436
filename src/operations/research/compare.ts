import { z } from 'zod';
import { site } from '../answers.ts';
import { defineQueued } from '../define.ts';
import { type FetchError, productSources } from '../market/product.ts';
import { DOMAIN_NAMES, domain, SITES } from '../params/domain.ts';
import { ASIN_SCHEMA, list, parseAsin } from '../params/lists.ts';
import { request } from '../params/request.ts';
import { integer } from '../params/scalars.ts';
import { toKeepaMinutes } from '../products/history.ts';
import type { Product } from '../products/product.ts';
import { currencyOf } from '../products/provider-fields.ts';
import { comparisonOf } from './comparison.ts';
import { dayTable } from './day-table.ts';
import { type Formulas, figure, figures, figuresOf } from './figures.ts';
import {
  getAndPost,
  PART_UNITS,
  partErrors,
  productOptions,
  productsAmong,
  unfetched,
  unfetchedUnits,
  updatedAt,
} from './parts.ts';
import { DAY_FORMULAS, monthlySoldOf, PRODUCT_FORMULAS, textOf } from './product-facts.ts';

const MOST_ASINS = 10;

const ASINS_SCHEMA = { ...ASIN_SCHEMA, examples: ['B08N5WRWNX', 'B0C3CDEF01'] };

const VALUES = ['price', 'rank', 'offers', 'rating'] as const;

const MOVEMENTS = {
  first: 'Value of the first day',
  last: 'Value of the last day',
  change: 'last - first; null if one of the two is unknown',
  average: 'Mean of the values of the days that have one',
  lowest: 'Lowest of the values of the days',
  highest: 'Highest of the values of the days',
} as const;

const FORMULAS: Formulas = {
  ...Object.fromEntries(DAY_FORMULAS.map(([name, formula]) => [`series.${name}`, formula])),
  ...Object.fromEntries(
    VALUES.flatMap((name) =>
      Object.entries(MOVEMENTS).map(([what, formula]) => [
        `summary.${name}.${what}`,
        ['products', formula] as const,
      ]),
    ),
  ),
  'summary.monthlySold': PRODUCT_FORMULAS.monthlySold,
};

const of = (name: string) => figure(FORMULAS, name);

const movement = (name: (typeof VALUES)[number]) =>
  z.object({
    first: of(`summary.${name}.first`),
    last: of(`summary.${name}.last`),
    change: of(`summary.${name}.change`),
    average: of(`summary.${name}.average`),
    lowest: of(`summary.${name}.lowest`),
    highest: of(`summary.${name}.highest`),
  });

const day = z.object({
  asin: z.string(),
  day: z.iso.date(),
  price: of('series.price'),
  rank: of('series.rank'),
  offers: of('series.offers'),
  rating: of('series.rating'),
});

const answer = z.object({
  ...site(),
  currency: z.string().describe('Currency of all prices, such as USD'),
  series: z
    .array(day)
    .describe('A row for each product and day, in the order of asins, the oldest day first. null is unknown'),
  summary: z
    .array(
      z.object({
        asin: z.string(),
        title: z.string().nullable(),
        brand: z.string().nullable(),
        updatedAt: z.iso.datetime().nullable().describe('When the provider last updated the product'),
        price: movement('price'),
        rank: movement('rank'),
        offers: movement('offers'),
        rating: movement('rating'),
        monthlySold: of('summary.monthlySold'),
      }),
    )
    .describe('One entry for each product, in the order of asins'),
  figures,
  errors: partErrors,
});

export type ResearchCompareData = z.infer<typeof answer>;

const params = request(
  { domain: DOMAIN_NAMES, asins: ['asins'] },
  {
    domain: domain(),
    asins: list(
      { item: 'ASIN', min: 2, max: MOST_ASINS, schema: ASINS_SCHEMA, parse: parseAsin, sorted: false },
      `2-${MOST_ASINS} ASINs`,
    ),
    days: integer({ min: 1, max: 365 }).default(90).describe('Days up to today, in UTC'),
  },
);

export const researchCompare = defineQueued<'research.compare', z.output<typeof params>, Product>({
  name: 'research.compare',
  summary: 'Compares price, sales rank, offers and rating of 2 to 10 products day by day.',
  tool: 'research_compare',
  toolset: 'research',
  routes: getAndPost('/api/research/compare'),
  params,
  price: {
    text: '1 per ASIN',
    quote: ({ asins }) => asins.length * PART_UNITS.products,
    settle: ({ asins }, { data }) => asins.length * PART_UNITS.products - unfetchedUnits(data),
  },
  partial: {
    failureOf(data) {
      const failed = unfetched(data);
      const isAll = failed.length === (data.summary as unknown[]).length;
      return isAll ? ((failed[0]?.errorId as FetchError | undefined) ?? null) : null;
    },
  },
  pools: ['market'],
  source: ({ domain, asins }) => productSources(asins, productOptions(domain)),
  tables: { daily: dayTable() },
  respond: {
    type: 'json',
    answer,
    present(found, { domain, asins, days }, { now, failures }) {
      const { products, errors } = productsAmong(asins, found, failures);
      const window = { domain, days, now: toKeepaMinutes(now) };
      const compared = asins.map((asin) => {
        const product = products.get(asin);
        const { rows, movements } = comparisonOf(asin, product, window);
        const { title, brand } = product ?? {};
        const summary = {
          asin,
          title: textOf(title),
          brand: textOf(brand),
          updatedAt: product ? updatedAt([product]) : null,
          ...movements,
          monthlySold: monthlySoldOf(product),
        };
        return { rows, summary };
      });
      return {
        data: {
          country: SITES[domain],
          domainId: domain,
          currency: currencyOf(domain),
          series: compared.flatMap(({ rows }) => rows),
          summary: compared.map(({ summary }) => summary),
          figures: figuresOf(FORMULAS, { products: updatedAt(products.values()) }),
          errors,
        },
      };
    },
  },
});
