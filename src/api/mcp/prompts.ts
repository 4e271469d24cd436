/** A text that a user selects in an agent's program, and that names the tools to use. */
interface Prompt {
  name: string;
  title: string;
  description: string;
  arguments: readonly { name: string; description: string; required: boolean }[];
  text(values: Readonly<Record<string, string>>): string;
}

const COUNTRY = {
  name: 'country',
  description: 'Site code, such as us, uk or de; default us',
  required: false,
};

const site = ({ country }: Readonly<Record<string, string>>) => country ?? 'us';

export const PROMPTS: readonly Prompt[] = [
  {
    name: 'watch_product',
    title: 'Watch a product',
    description: 'Reports price, rank and offers of a product, and how they changed.',
    arguments: [{ name: 'asin', description: 'ASIN of the product', required: true }, COUNTRY],
    text: (values) =>
      `Report on the product ${values.asin} of the site ${site(values)}.
1. Call market_get_product with country, asins, detailLevel=lite, stats=90, rating=true, decode=true and fields=title,statistics.
2. State title, current price, lowest and average price of 90 days, sales rank, rating, number of offers, and whether now is a good time to buy. statistics.current, statistics.avg90 and statistics.minInInterval have them by name; a name without data is absent.
3. If the answer is an outline, read only the parts you need with jobs_get_result, path and fields.`,
  },
  {
    name: 'research_keyword',
    title: 'Research a keyword',
    description: 'Compares demand, trend and competition of a search term.',
    arguments: [{ name: 'keyword', description: 'Search term', required: true }, COUNTRY],
    text: (values) =>
      `Research the keyword "${values.keyword}" on the site ${site(values)}.
1. Call aba_search_keywords, then aba_get_word_detail for the best match: rank, 52 weeks of history, most-clicked products.
2. Call web_trends_interest_over_time and web_trends_related_queries for the keyword.
3. Call market_search_products for the first page of competitors.
4. Summarize demand, season, price range and the strongest competitors, with the numbers you used and the units spent.`,
  },
  {
    name: 'compare_sellers',
    title: 'Compare sellers',
    description: 'Compares ratings, size and assortment of sellers.',
    arguments: [{ name: 'sellers', description: 'Seller ids, separated by commas', required: true }, COUNTRY],
    text: (values) =>
      `Compare the sellers ${values.sellers} of the site ${site(values)}.
1. Call market_get_seller once with all ids and without storefront.
2. Make a table: name, rating, number of ratings, age, brands and categories.
3. State who is largest and who is rated best. Ask before you fetch a storefront, which costs 10 units for each seller.`,
  },
];

/** Returns the text of a prompt, or the name of an argument that is missing; null for an unknown prompt. */
export function promptText(
  name: string,
  values: Readonly<Record<string, string>>,
): { text: string } | { missing: string } | null {
  const prompt = PROMPTS.find((one) => one.name === name);
  if (!prompt) return null;
  const missing = prompt.arguments.find((one) => one.required && !values[one.name]?.trim());
  return missing ? { missing: missing.name } : { text: prompt.text(values) };
}
