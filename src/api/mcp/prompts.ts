import { REPORT_SITES } from '../../operations/brand-analytics/keywords.ts';
import { SITES } from '../../operations/params/domain.ts';

type Values = Readonly<Record<string, string>>;

/** A text that a user selects in an agent's program. It names the tools to use, and their arguments as `name=value`. */
interface Prompt {
  name: string;
  title: string;
  description: string;
  arguments: { name: string; description: string; required: boolean }[];
  text(values: Values, site: Site): string;
}

/** A site as the tools name it. */
interface Site {
  code: string;
  /** The country of its searches. */
  geo: string;
  hasReports: boolean;
}

const CODES = Object.values(SITES);

const COUNTRY = {
  name: 'country',
  description: `Site code: ${CODES.join(', ')}; default us`,
  required: false,
};

export const PROMPTS: readonly Prompt[] = [
  {
    name: 'watch_product',
    title: 'Watch a product',
    description: 'Reports price, rank and offers of a product, and how they changed in 90 days.',
    arguments: [{ name: 'asin', description: 'ASIN of the product', required: true }, COUNTRY],
    text: ({ asin = '' }, { code }) =>
      `Report on the product ${asin} of the site ${code}.
1. Call market_get_product with country=${code}, asins=${listOf(asin)}, detailLevel=lite, stats=90, rating=true, days=90, points=40 and fields=title,statistics,history.new,history.amazon,history.salesRank.
2. State title, current price, lowest and average price of 90 days, sales rank, rating and number of new offers. statistics.current, statistics.avg90 and statistics.minInInterval have them by the names new, salesRank, rating and newOffers, in the site's currency and stars; a name without data is absent.
3. State how price and sales rank changed: each history is a list of [day, value], changes only. Compare the current price with the average and the lowest one.
4. If the answer is an outline, get the parts that you need from jobs_get_result, with _call.jobId as id, path and fields.
The call costs 1 unit.`,
  },
  {
    name: 'research_keyword',
    title: 'Research a keyword',
    description: 'Reports demand, trend and competition of a search term.',
    arguments: [{ name: 'keyword', description: 'Search term', required: true }, COUNTRY],
    text: researchText,
  },
  {
    name: 'compare_sellers',
    title: 'Compare sellers',
    description: 'Compares ratings and number of products of sellers.',
    arguments: [{ name: 'sellers', description: 'Seller ids, separated by commas', required: true }, COUNTRY],
    text: ({ sellers = '' }, { code }) =>
      `Compare the sellers ${sellers} of the site ${code}.
1. Call market_get_seller once with country=${code}, seller=${listOf(sellers)}, csvDays=0 and fields=sellerName,hasFBA,currentRating,currentRatingCount,ratingCount,positiveRating,totalStorefrontAsins,sellerBrandStatistics,sellerCategoryStatistics. A seller that is absent from the answer is unknown on this site.
2. Make a table: name, positive ratings in percent (currentRating) and number of ratings (currentRatingCount), ratings of the last 30 and 365 days (ratingCount has 30, 90 and 365 days and the total), number of products (the second value of totalStorefrontAsins), and brands and categories if the answer has them.
3. State who is largest and who is rated best. Brands and categories that are absent come with storefront=true, one seller per call, for 10 units: ask the user before.
The call costs 1 unit for each seller.`,
  },
];

function researchText({ keyword = '' }: Values, { code, geo, hasReports }: Site): string {
  const term = JSON.stringify(keyword);
  const steps = [
    ...(hasReports
      ? [
          `Call aba_search_keywords with country=${code}, keyword=${term} and limit=10. If an item is the term or nearly so, call aba_get_word_detail with its wordId: latest and best rank, the ranks of 52 weeks, and the three most-clicked products with their shares. Without such an item, or if no week of the site is loaded, say that the weekly reports lack the term, and go on.`,
        ]
      : []),
    `Call web_trends_interest_over_time with keyword=[${term}] and geo=${geo}. State whether interest grows, and in which months it is highest. 100 is the highest value of the period, not a number of searches.`,
    `Call web_trends_related_queries with keyword=[${term}] and geo=${geo}.`,
    `Call market_search_products with country=${code}, term=${term} and fields=asin,title,brand,price,rating,reviewCount,bsr. price is in the currency of the site, rating in stars, bsr is the sales rank, null means no data.`,
    'Summarize demand, season, price range and the strongest competitors, with the numbers and weeks that you used, and the units spent (_call.unitsConsumed of each result).',
  ];
  return `Research the keyword ${term} on the site ${code}.
${steps.map((step, i) => `${i + 1}. ${step}`).join('\n')}
${hasReports ? '' : `The site ${code} has no brand analytics. `}The calls cost up to ${hasReports ? 9 : 7} units.`;
}

/** Returns a list as the arguments of tools have it. */
function listOf(text: string): string {
  const items = text.split(',').map((item) => item.trim());
  return JSON.stringify(items.filter((item) => item !== ''));
}

/** Returns the text of a prompt, or what is wrong with its arguments; null for an unknown prompt. */
export function promptText(name: string, values: Values): { text: string } | { problem: string } | null {
  const prompt = PROMPTS.find((one) => one.name === name);
  if (!prompt) return null;
  const missing = prompt.arguments.find((one) => one.required && !values[one.name]?.trim());
  if (missing) return { problem: `The argument ${missing.name} is required.` };
  const site = siteOf(values.country);
  if (!site) return { problem: `The argument country must be one of ${CODES.join(', ')}.` };
  return { text: prompt.text(values, site) };
}

function siteOf(country = ''): Site | null {
  const code = country.trim().toLowerCase() || 'us';
  const found = Object.entries(SITES).find(([, known]) => known === code);
  if (!found) return null;
  return {
    code,
    geo: code === 'uk' ? 'GB' : code.toUpperCase(),
    hasReports: Object.hasOwn(REPORT_SITES, code),
  };
}
