import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { reportDate, reportSiteCode } from '../answers.ts';
import { REPORT_SITES, type ReportSite } from '../brand-analytics/keywords.ts';
import { defineQueued, type Source } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { boolean, integer, text } from '../params/scalars.ts';
import { toKeepaMinutes } from '../products/history.ts';
import type { Product } from '../products/product.ts';
import { columnsFrom, columnsOf, type Row } from '../tables/columns.ts';
import { dateOf, interestOverTime, type Timeline } from '../trends/interest-over-time.ts';
import { type KeywordInput, LONGEST_KEYWORD, withWindow } from '../trends/keyword-question.ts';
import { type Formulas, figure, figures, figuresOf } from './figures.ts';
import { brandShares, type KeywordReports, keywordFigures } from './keyword-figures.ts';
import {
  getAndPost,
  PART_UNITS,
  type PartError,
  partErrors,
  productsAmong,
  REPORTS_KEY,
  TRENDS_KEY,
  unfetchedUnits,
  updatedAt,
} from './parts.ts';
import { factsOf, PRODUCT_FORMULAS, productFacts, textOf } from './product-facts.ts';

type Found = KeywordReports | Product | Timeline;

/** The most clicked products of a search term. */
const CLICKED_PRODUCTS = 3;

const { price, rating, reviewCount, rank, monthlySold } = PRODUCT_FORMULAS;

const BEFORE = 'positive is better; null if one of the two ranks is unknown';

const FORMULAS: Formulas = {
  'rank.current': ['reports', 'Rank in week; null if the keyword was not ranked'],
  'rank.best': ['reports', 'Lowest number among the ranks of history'],
  'rank.worst': ['reports', 'Highest number among the ranks of history'],
  'rank.change4': ['reports', `Rank 4 weeks before week minus rank.current; ${BEFORE}`],
  'rank.change12': ['reports', `Rank 12 weeks before week minus rank.current; ${BEFORE}`],
  'history.rank': [
    'reports',
    'Rank in that week; null if the keyword was not ranked or the week is not loaded',
  ],
  'products.position': ['reports', 'Position among the three products clicked most in week'],
  'products.clickShare': ['reports', 'Share of the clicks in week, in percent; null if blank in the report'],
  'products.conversionShare': [
    'reports',
    'Share of the purchases in week, in percent; null if blank in the report',
  ],
  'products.price': price,
  'products.rating': rating,
  'products.reviewCount': reviewCount,
  'products.rank': rank,
  'products.monthlySold': monthlySold,
  'concentration.clickShare': [
    'reports',
    'Sum of the click shares of the three products clicked most in week, in percent; null if all are blank',
  ],
  'concentration.conversionShare': [
    'reports',
    'Sum of the conversion shares of the same products, in percent; null if all are blank',
  ],
  'concentration.change12': [
    'reports',
    'concentration.clickShare minus that of 12 weeks before week, in percentage points; null if one is unknown',
  ],
  'concentration.history.clickShare': ['reports', 'The same sum in that week'],
  'concentration.history.conversionShare': ['reports', 'The same sum in that week'],
  'brands.clickShare': [
    'reports + products',
    'Sum of the click shares in week of those of the three products that have this brand, in percent',
  ],
  entrants: [
    'reports',
    'Products among the three clicked most in a week of history and not in the week before; the keyword was ranked in both weeks',
  ],
  leavers: [
    'reports',
    'Products that were among the three clicked most in the week before a week of history and not in that week; the keyword was ranked in both weeks',
  ],
  'seasonality.weeks': [
    'reports',
    'Number of weeks with a rank among the 104 up to week; with fewer than 52, seasonality is null',
  ],
  'seasonality.months.weeks': ['reports', 'Number of these weeks whose Saturday is in the month'],
  'seasonality.months.rank': ['reports', 'Median of the ranks in these weeks of the month'],
  'seasonality.months.index': [
    'reports',
    'Median of all these ranks divided by that of the month; above 1 the keyword ranks better than usual',
  ],
  'trends.points.value': [
    'trends',
    'Search interest on the web in the country of the site over the last 12 months, 100 at its highest; null without data',
  ],
};

const of = (name: string) => figure(FORMULAS, name);

const moves = (name: 'entrants' | 'leavers') =>
  z.array(z.object({ asin: z.string(), week: reportDate })).describe(`${FORMULAS[name]?.[1]}; newest first`);

const product = z.object({
  position: z.int().min(1).max(CLICKED_PRODUCTS),
  asin: z.string(),
  clickShare: of('products.clickShare'),
  conversionShare: of('products.conversionShare'),
  ...productFacts,
});

const shares = z.object({
  clickShare: of('concentration.clickShare'),
  conversionShare: of('concentration.conversionShare'),
});

const week = z.object({ week: reportDate, rank: of('history.rank'), isLoaded: z.boolean() });

/** Columns of the term and its week, then those of a record. Ranks, and numbers of reviews and sales, are whole. */
const tableColumns = (record: z.ZodObject, names: readonly string[], meanings: Record<string, string>) =>
  [
    ...columnsFrom({ country: ['text', 'Site code, such as us'], keyword: ['text', 'Search term'] }),
    ...columnsOf(record, names, meanings),
  ].map((one) =>
    ['rank', 'reviewCount', 'monthlySold'].includes(one.name) ? { ...one, type: 'integer' as const } : one,
  );

const PRODUCT_COLUMNS = tableColumns(
  product.extend({ week: reportDate }),
  ['week', ...Object.keys(product.shape)],
  {
    position: 'Position among the three products clicked most',
    asin: 'ASIN',
    title: 'Title',
    brand: 'Brand',
  },
);

const WEEK_COLUMNS = tableColumns(
  week.extend(shares.shape),
  ['week', 'rank', 'isLoaded', 'clickShare', 'conversionShare'],
  { isLoaded: 'Whether the report of the week is loaded' },
);

const answer = z.object({
  country: reportSiteCode,
  keyword: z.string().describe('As the reports write it'),
  week: reportDate.describe('Saturday of the newest loaded week of the site'),
  rank: z.object({
    current: of('rank.current'),
    best: of('rank.best'),
    worst: of('rank.worst'),
    change4: of('rank.change4'),
    change12: of('rank.change12'),
  }),
  history: z
    .array(week)
    .describe('One entry for each week, the oldest first; weeks in between are never interpolated'),
  products: z
    .array(product)
    .describe(
      'The products clicked most in week, with their present values; empty if the keyword was not ranked',
    ),
  concentration: z.object({
    clickShare: of('concentration.clickShare'),
    conversionShare: of('concentration.conversionShare'),
    change12: of('concentration.change12'),
    history: z.array(
      z.object({
        week: reportDate,
        clickShare: of('concentration.history.clickShare'),
        conversionShare: of('concentration.history.conversionShare'),
      }),
    ),
  }),
  brands: z
    .array(
      z.object({
        brand: z.string().nullable().describe('null for products whose brand is unknown'),
        clickShare: of('brands.clickShare'),
      }),
    )
    .describe('The largest share first'),
  entrants: moves('entrants'),
  leavers: moves('leavers'),
  seasonality: z
    .object({
      weeks: z.int().describe(FORMULAS['seasonality.weeks']?.[1] ?? ''),
      months: z.array(
        z.object({
          month: z.int().min(1).max(12),
          weeks: z.int(),
          rank: of('seasonality.months.rank'),
          index: of('seasonality.months.index'),
        }),
      ),
    })
    .nullable()
    .describe('The twelve calendar months; null if fewer than 52 of the last 104 weeks have a rank'),
  trends: z
    .object({
      geo: z.string(),
      resolution: z.string().nullable().describe('Period of a point, such as WEEK'),
      points: z.array(
        z.object({
          date: z.string().describe('Start of the period'),
          value: of('trends.points.value'),
          isPartial: z.boolean().describe('Whether the period has not ended yet'),
        }),
      ),
    })
    .nullable()
    .describe('Only with trends=1; null otherwise, or if they could not be fetched'),
  figures,
  errors: partErrors,
});

export type ResearchKeywordData = z.infer<typeof answer>;

const params = request(
  {},
  {
    country: reportSite().describe('Site code'),
    keyword: text({ maxLength: 200 }).meta({
      description: 'The whole search term; case and repeated blanks do not matter',
      // plain-english: allow
      examples: ['desk lamp'],
    }),
    weeks: integer({ min: 1, max: 104 })
      .default(12)
      .describe('Weeks of the histories, up to the newest loaded one'),
    trends: boolean().default(false).describe('Include the search trend of the last 12 months'),
  },
).refine(({ trends, keyword }) => !trends || Array.from(keyword).length <= LONGEST_KEYWORD, {
  path: ['trends'],
  error: `must be 0 for a keyword of more than ${LONGEST_KEYWORD} characters`,
});

export type ResearchKeywordInput = z.output<typeof params>;

export const researchKeyword = defineQueued({
  name: 'research.keyword',
  summary:
    'Joins the weekly ranks of a keyword, its most-clicked products with their present values, and its search trend.',
  tool: 'research_keyword',
  toolset: 'research',
  routes: getAndPost('/api/research/keyword'),
  params,
  price: {
    text: '1 for the reports, 1 for each of the three products, 1 with trends',
    quote: (input) => unitsOf(input, CLICKED_PRODUCTS),
    settle: (input, { data }) => unitsOf(input, (data.products as unknown[]).length) - unfetchedUnits(data),
  },
  // The reports are always there.
  partial: { failureOf: () => null },
  pools: ['trends', 'market'],
  queue: ({ trends }) => (trends ? 'trends' : 'market'),
  reports: ({ country }) => ({ country, needsWeek: true }),
  source: (input) => [
    { key: REPORTS_KEY, identity: `research/keyword/${fingerprint(input)}`, provider: 'reports' },
  ],
  tables: {
    products: {
      columns: () => PRODUCT_COLUMNS,
      *rows({ country, keyword, week, products }) {
        for (const one of products as Row[]) yield { country, keyword, week, ...one };
      },
    },
    history: {
      columns: () => WEEK_COLUMNS,
      *rows({ country, keyword, history, concentration }) {
        const { history: shares } = concentration as { history: (Row | undefined)[] };
        for (const [i, one] of (history as Row[]).entries()) yield { country, keyword, ...shares[i], ...one };
      },
    },
  },
  respond: {
    type: 'json',
    answer,
    present(found: ReadonlyMap<string, Found>, input, { now, failures }) {
      const reports = found.get(REPORTS_KEY) as KeywordReports;
      const { rankDates, clicked, rank, history, ...computed } = keywordFigures(reports, input.weeks);
      const { domain } = REPORT_SITES[input.country];
      const asins = clicked.map(({ asin }) => asin);
      const { products, errors } = productsAmong(asins, found, failures);
      const timeline = found.get(TRENDS_KEY) as Timeline | undefined;
      const trends = timeline ? trendOf(timeline, input) : null;
      const brands = brandShares(clicked, (asin) => textOf(products.get(asin)?.brand));
      const dates = {
        reports: reports.week,
        products: updatedAt(products.values()),
        trends: trends?.points.at(-1)?.date ?? null,
      };
      return {
        data: {
          country: input.country,
          keyword: reports.keyword,
          week: reports.week,
          rank,
          history,
          products: clicked.map((one) => ({
            ...one,
            ...factsOf(products.get(one.asin), domain, toKeepaMinutes(now)),
          })),
          ...computed,
          brands,
          trends,
          figures: figuresOf(FORMULAS, dates, { 'rank.best': rankDates.best, 'rank.worst': rankDates.worst }),
          errors: [...errors, ...(input.trends && !trends ? [trendsError(failures?.get(TRENDS_KEY))] : [])],
        },
      };
    },
  },
});

function unitsOf({ trends }: ResearchKeywordInput, products: number): number {
  return PART_UNITS.reports + products * PART_UNITS.products + (trends ? PART_UNITS.trends : 0);
}

function trendsError(failure = 'UPSTREAM_ERROR'): PartError {
  return { source: TRENDS_KEY, errorId: failure as PartError['errorId'] };
}

/** The region of a site that differs from its code. */
const GEO: Partial<Record<ReportSite, string>> = { uk: 'GB' };

function geoOf(country: ReportSite): string {
  return GEO[country] ?? country.toUpperCase();
}

/** Returns the question about the search trend. A call for it with the defaults of its parameters shares its fetch. */
export function trendInput({ country, keyword }: ResearchKeywordInput, today: string): KeywordInput {
  const defaults = interestOverTime.params.parse({ keyword: 'x', geo: geoOf(country) });
  return withWindow({ ...defaults, keyword: [keyword] }, today);
}

/** Returns the source of the search trend; none if the caller does not want it. */
export function trendSources(input: ResearchKeywordInput, today: string): readonly Source[] {
  if (!input.trends) return [];
  return interestOverTime
    .source(trendInput(input, today))
    .map((source) => ({ ...source, key: TRENDS_KEY, provider: 'trends' }));
}

function trendOf({ resolution, points }: Timeline, { country }: ResearchKeywordInput) {
  return {
    geo: geoOf(country),
    resolution,
    points: points.map(({ timestamp, isPartial, values: [value = null], hasData: [hasData] }) => ({
      date: dateOf(timestamp, resolution),
      value: hasData ? value : null,
      isPartial,
    })),
  };
}
