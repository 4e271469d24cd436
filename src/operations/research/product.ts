import { z } from 'zod';
import { reportDate, site } from '../answers.ts';
import { type ReportSite, siteOfDomain } from '../brand-analytics/keywords.ts';
import { defineQueued } from '../define.ts';
import { type FetchError, productSources } from '../market/product.ts';
import { DOMAIN_NAMES, domain, SITES } from '../params/domain.ts';
import { requiredAsin } from '../params/lists.ts';
import { isRecord, request } from '../params/request.ts';
import { integer, money } from '../params/scalars.ts';
import { firstImage } from '../products/detail-level.ts';
import { toKeepaMinutes } from '../products/history.ts';
import type { Product } from '../products/product.ts';
import { currencyOf } from '../products/provider-fields.ts';
import { comparisonOf } from './comparison.ts';
import { dayTable } from './day-table.ts';
import { type Formulas, figure, figures, figuresOf } from './figures.ts';
import { historyFigures } from './history-figures.ts';
import {
  getAndPost,
  PART_UNITS,
  partErrors,
  productOptions,
  productsAmong,
  REPORTS_KEY,
  unfetched,
  unfetchedUnits,
  updatedAt,
} from './parts.ts';
import { DAY_FORMULAS, monthlySoldOf, PRODUCT_FORMULAS, textOf } from './product-facts.ts';
import { profitOf } from './profit.ts';
import { currentOf, seriesOf } from './series.ts';

/** The keywords of a product in the reports. */
export interface ProductReports {
  /** The newest loaded week of the site. */
  week: string;
  /** In the order of the answer; one more than `MOST_KEYWORDS` if there are more. */
  keywords: readonly {
    keyword: string;
    week: string;
    rank: number;
    position: number;
    clickShare: number | null;
  }[];
}

export const MOST_KEYWORDS = 100;

/** The largest amount of a cost, in the currency of the site. */
const MOST_COST = 10_000_000;

type Found = ProductReports | Product;

const MEANS = 'Each value counts as long as it was valid; times without a value do not count';

function historyFormulas(name: 'price' | 'rank', of: string, sign: string): Formulas {
  const average = (days: number) =>
    ['products', `Mean of ${of} over the last ${days} times 24 hours. ${MEANS}`] as const;
  return {
    [`${name}.current`]: PRODUCT_FORMULAS[name],
    [`${name}.average30`]: average(30),
    [`${name}.average90`]: average(90),
    [`${name}.average365`]: average(365),
    [`${name}.lowest`]: ['products', `Lowest value of ${of} in the whole history, at date`],
    [`${name}.highest`]: ['products', `Highest value of ${of} in the whole history, at date`],
    [`${name}.drop`]: [
      'products',
      `(average90 - current) / average90, in percent; ${sign}; null if one of the two is unknown`,
    ],
  };
}

const FORMULAS: Formulas = {
  ...historyFormulas('price', 'the price', 'negative if the price is above its average'),
  ...historyFormulas('rank', 'the sales rank', 'positive if the rank is better than its average'),
  'keywords.rank': ['reports', 'Rank of the keyword in its week'],
  'keywords.position': ['reports', 'Position of the product among the three clicked most for the keyword'],
  'keywords.clickShare': [
    'reports',
    'Share of the clicks in its week, in percent; null if blank in the report',
  ],
  'fees.referral': [
    'products',
    'price.current times the referral percentage that the provider names. Minimum fees are not included',
  ],
  'fees.closing': ['products', 'Closing fee of media that the provider names; null without one'],
  'fees.fba': ['products', 'Fee for picking and packing that the provider names'],
  'profit.profit': [
    'products + request',
    'price - referral - closing - fba - cost - otherCosts; an unknown closing counts as 0; null if another one is unknown',
  ],
  'profit.margin': ['products + request', 'profit / price, in percent'],
  'profit.roi': ['products + request', 'profit / cost, in percent; null if cost is 0'],
  'profit.cost': ['request', 'Parameter cost; null without it'],
  'profit.otherCosts': ['request', 'Parameter otherCosts'],
  'profit.price': ['products', 'price.current'],
  'profit.referral': ['products', 'fees.referral'],
  'profit.closing': ['products', 'fees.closing'],
  'profit.fba': ['products', 'fees.fba'],
  offers: PRODUCT_FORMULAS.offers,
  monthlySold: PRODUCT_FORMULAS.monthlySold,
  ...Object.fromEntries(DAY_FORMULAS.map(([name, formula]) => [`series.${name}`, formula])),
};

const of = (name: string) => figure(FORMULAS, name);

const history = (name: 'price' | 'rank') =>
  z.object({
    current: of(`${name}.current`),
    average30: of(`${name}.average30`),
    average90: of(`${name}.average90`),
    average365: of(`${name}.average365`),
    lowest: of(`${name}.lowest`),
    highest: of(`${name}.highest`),
    drop: of(`${name}.drop`),
  });

const answer = z.object({
  ...site(),
  asin: z.string(),
  currency: z.string().describe('Currency of all amounts, such as USD'),
  product: z
    .object({
      title: z.string().nullable(),
      brand: z.string().nullable(),
      category: z.string().nullable().describe('Root category'),
      parentAsin: z.string().nullable(),
      image: z.string().nullable().describe('File name of the main picture'),
      updatedAt: z.iso.datetime().nullable().describe('When the provider last updated the product'),
    })
    .nullable()
    .describe('null if the provider has no data; errors says why'),
  price: history('price'),
  rank: history('rank'),
  keywords: z
    .array(
      z.object({
        keyword: z.string(),
        week: reportDate.describe('The last week in which the product was among the three'),
        rank: of('keywords.rank'),
        position: z.int().min(1).max(3),
        clickShare: of('keywords.clickShare'),
      }),
    )
    .nullable()
    .describe(
      `Keywords for which the product was among the three clicked most in the last weeks, the newest week first, then by rank; at most ${MOST_KEYWORDS}. null if no report of the site is loaded`,
    ),
  hasMoreKeywords: z.boolean().describe(`Whether there are more than ${MOST_KEYWORDS}`),
  fees: z.object({
    referral: of('fees.referral'),
    closing: of('fees.closing'),
    fba: of('fees.fba'),
    source: z.literal('products').nullable().describe('Where the fees come from; null if none is known'),
  }),
  profit: z.object({
    price: of('profit.price'),
    referral: of('profit.referral'),
    closing: of('profit.closing'),
    fba: of('profit.fba'),
    cost: of('profit.cost'),
    otherCosts: z.number().describe('Parameter otherCosts'),
    profit: of('profit.profit'),
    margin: of('profit.margin'),
    roi: of('profit.roi'),
  }),
  offers: of('offers'),
  monthlySold: of('monthlySold'),
  series: z
    .array(
      z.object({
        day: z.iso.date(),
        price: of('series.price'),
        rank: of('series.rank'),
        offers: of('series.offers'),
        rating: of('series.rating'),
      }),
    )
    .nullable()
    .describe('Only with days: a row for each day, the oldest first. null is unknown'),
  figures,
  errors: partErrors,
});

export type ResearchProductData = z.infer<typeof answer>;

const params = request(
  { domain: DOMAIN_NAMES, asin: ['asin'] },
  {
    domain: domain(),
    asin: requiredAsin(),
    cost: money(MOST_COST)
      .optional()
      .meta({ description: 'Your cost, in the currency of the site', examples: [4.5] }),
    otherCosts: money(MOST_COST)
      .default(0)
      .meta({ description: 'Your other costs of a sale', examples: [1.2] }),
    weeks: integer({ min: 1, max: 104 }).default(12).describe('Newest weeks of reports with keywords'),
    days: integer({ min: 1, max: 365 }).optional().describe('Adds daily series'),
  },
);

export type ResearchProductInput = z.output<typeof params>;

export const researchProduct = defineQueued<'research.product', ResearchProductInput, Found>({
  name: 'research.product',
  summary: 'Joins price, sales rank, keywords, fees and profit of a product.',
  tool: 'research_product',
  toolset: 'research',
  routes: getAndPost('/api/research/product'),
  params,
  price: {
    text: '1 for the product, 1 for the reports of a site that has them',
    quote: (input) => PART_UNITS.products + (reportSiteOf(input) ? PART_UNITS.reports : 0),
    settle: (_input, { data }) =>
      PART_UNITS.products + (data.keywords === null ? 0 : PART_UNITS.reports) - unfetchedUnits(data),
  },
  partial: {
    failureOf: (data) =>
      data.keywords === null ? ((unfetched(data)[0]?.errorId as FetchError | undefined) ?? null) : null,
  },
  pools: ['market'],
  reports: (input) => {
    const country = reportSiteOf(input);
    return country ? { country } : null;
  },
  source: ({ domain, asin }) => productSources([asin], productOptions(domain)),
  tables: { daily: dayTable(({ days }) => (days === undefined ? 'days' : null)) },
  respond: {
    type: 'json',
    answer,
    present(found, input, { now: nowMs, failures }) {
      const { domain, asin, cost = null, otherCosts } = input;
      const now = toKeepaMinutes(nowMs);
      const reports = found.get(REPORTS_KEY) as ProductReports | undefined;
      const { products, errors } = productsAmong([asin], found, failures);
      const product = products.get(asin);
      const priceSeries = seriesOf(product, 'price', domain, now);
      const [price, rank] = [priceSeries, seriesOf(product, 'rank', domain, now)].map((series) =>
        historyFigures(series, now),
      ) as [ReturnType<typeof historyFigures>, ReturnType<typeof historyFigures>];
      const dates = { reports: reports?.week ?? null, products: updatedAt(products.values()), request: null };
      return {
        data: {
          country: SITES[domain],
          domainId: domain,
          asin,
          currency: currencyOf(domain),
          product: product ? identityOf(product) : null,
          price: price.values,
          rank: rank.values,
          keywords: reports?.keywords.slice(0, MOST_KEYWORDS) ?? null,
          hasMoreKeywords: (reports?.keywords.length ?? 0) > MOST_KEYWORDS,
          ...profitOf(product, { price: currentOf(priceSeries), unit: priceSeries.unit, cost, otherCosts }),
          offers: currentOf(seriesOf(product, 'offers', domain, now)),
          monthlySold: monthlySoldOf(product),
          series: input.days === undefined ? null : daysOf(asin, product, { domain, days: input.days, now }),
          figures: figuresOf(FORMULAS, dates, {
            'price.lowest': price.dates.lowest,
            'price.highest': price.dates.highest,
            'rank.lowest': rank.dates.lowest,
            'rank.highest': rank.dates.highest,
          }),
          errors,
        },
      };
    },
  },
});

/** Returns the site in the reports; undefined for a site without brand analytics. */
function reportSiteOf({ domain }: ResearchProductInput): ReportSite | undefined {
  return siteOfDomain(domain);
}

function daysOf(asin: string, product: Product | undefined, window: Parameters<typeof comparisonOf>[2]) {
  return comparisonOf(asin, product, window).rows.map(({ asin: _, ...row }) => row);
}

function identityOf(product: Product) {
  const { title, brand, categoryTree, parentAsin } = product;
  const root: unknown = Array.isArray(categoryTree) ? categoryTree[0] : null;
  return {
    title: textOf(title),
    brand: textOf(brand),
    category: textOf(isRecord(root) ? root.name : null),
    parentAsin: textOf(parentAsin),
    image: firstImage(product),
    updatedAt: updatedAt([product]),
  };
}
