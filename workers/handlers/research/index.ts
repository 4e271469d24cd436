import { latestKeywords } from '../../../src/brand-analytics/product-keywords.ts';
import { historyOf, termIds } from '../../../src/brand-analytics/word.ts';
import { normaliseTerm, REPORT_SITES } from '../../../src/operations/brand-analytics/keywords.ts';
import { utcDay } from '../../../src/operations/define.ts';
import { productSources } from '../../../src/operations/market/product.ts';
import type { Domain } from '../../../src/operations/params/domain.ts';
import type { Product } from '../../../src/operations/products/product.ts';
import {
  type ResearchKeywordInput,
  trendInput,
  trendSources,
} from '../../../src/operations/research/keyword.ts';
import { type KeywordReports, READ_WEEKS } from '../../../src/operations/research/keyword-figures.ts';
import { productOptions, REPORTS_KEY } from '../../../src/operations/research/parts.ts';
import {
  MOST_KEYWORDS,
  type ProductReports,
  type ResearchProductInput,
  researchProduct,
} from '../../../src/operations/research/product.ts';
import type { Timeline } from '../../../src/operations/trends/interest-over-time.ts';
import { addDays } from '../../../src/platform/calendar.ts';
import { asinsPerCall, fetchProducts } from '../../../src/upstream/keepa/products.ts';
import { allParts } from '../../sources.ts';
import type { HandlerContext, HandlersOf } from '../handler.ts';
import { type Reports, readReports, weekIsGone } from '../reports.ts';
import { questionOf } from '../trends.ts';
import { handleScreen } from './screen.ts';

/** The parts of these answers are sources, which single calls share. */
export const RESEARCH_HANDLERS: HandlersOf<'research'> = {
  'research.keyword': async (input, context) => {
    const needed = { country: input.country, needsWeek: true };
    const reports = await readReports(context, needed, (from) => keywordIn(from, input));
    const newest = reports.weeks.find(({ week }) => week === reports.week);
    const asins = newest?.clicked.map(({ asin }) => asin) ?? [];
    const { domain } = REPORT_SITES[input.country];
    const parts = await allParts<ReadonlyMap<string, Product | Timeline>>([
      obtainProducts(context, context.obtainPart, domain, asins),
      obtainTrend(context, input),
    ]);
    return new Map<string, KeywordReports | Product | Timeline>([
      [REPORTS_KEY, reports],
      ...parts.flatMap((part) => [...part]),
    ]);
  },

  'research.product': async (input, context) => {
    const { domain, asin } = input;
    const needed = researchProduct.reports?.(input);
    const reports = needed && (await readReports(context, needed, (from) => keywordsIn(from, input)));
    // Without reports, the product is the only part.
    const obtain = reports ? context.obtainPart : context.obtain;
    const products = await obtainProducts(context, obtain, domain, [asin]);
    return new Map<string, ProductReports | Product>([
      ...(reports ? [[REPORTS_KEY, reports] as const] : []),
      ...products,
    ]);
  },

  'research.screen': handleScreen,

  'research.compare': ({ domain, asins }, context) => obtainProducts(context, context.obtain, domain, asins),
};

function obtainProducts(
  context: HandlerContext,
  obtain: HandlerContext['obtain'],
  domain: Domain,
  asins: readonly string[],
): Promise<ReadonlyMap<string, Product>> {
  const options = productOptions(domain);
  const fetch = (keys: readonly string[]) => fetchProducts(context.upstream.keepa, keys, options, context);
  return obtain(productSources(asins, options), fetch, asinsPerCall(options));
}

function obtainTrend(
  context: HandlerContext,
  input: ResearchKeywordInput,
): Promise<ReadonlyMap<string, Timeline>> {
  const today = utcDay(context.now());
  return context.obtainPart(trendSources(input, today), async (keys) => {
    const question = questionOf(trendInput(input, today));
    const timeline = await context.upstream.trends.interestOverTime(question, context);
    return new Map(keys.map((key) => [key, timeline]));
  });
}

/** Returns a term in the last weeks of its site; without ranks if no loaded week has it. */
async function keywordIn(
  { database, weeks }: Reports,
  { country, keyword: sent }: ResearchKeywordInput,
): Promise<KeywordReports> {
  const [newest] = weeks;
  if (!newest) throw weekIsGone(country);
  const keyword = normaliseTerm(sent);
  const wordId = (await termIds(database, country, [keyword])).get(keyword);
  const read = lastWeeks(weeks, READ_WEEKS);
  const history = wordId === undefined ? [] : await historyOf(database, wordId, read);
  const found = new Map(history.map((week) => [week.reportDate, week]));
  return {
    keyword,
    week: newest.week,
    weeks: read.map(({ week }) => {
      const { rank = null, goods: clicked = [] } = found.get(week) ?? {};
      return { week, rank, clicked };
    }),
  };
}

/** Returns the keywords of a product; null if no report of the site is loaded. */
async function keywordsIn(
  { database, weeks }: Reports,
  { asin, weeks: count }: ResearchProductInput,
): Promise<ProductReports | null> {
  const [newest] = weeks;
  if (!newest) return null;
  const keywords = await latestKeywords(database, lastWeeks(weeks, count), asin, MOST_KEYWORDS + 1);
  return { week: newest.week, keywords };
}

/** Returns the loaded ones of the last weeks up to the newest loaded one. */
function lastWeeks(weeks: Reports['weeks'], count: number): Reports['weeks'] {
  const [newest] = weeks;
  return newest ? weeks.filter(({ week }) => week > addDays(newest.week, -7 * count)) : [];
}
