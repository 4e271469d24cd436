/** Groups of MCP tools. Each listed tool costs an agent tokens in every conversation, so agents select groups. */
export const TOOLSETS = [
  'account',
  'billing',
  'products',
  'categories',
  'sellers',
  'deals',
  'visuals',
  'aba',
  'trends',
  'research',
  'jobs',
  'batches',
  'schedules',
  'trackers',
] as const;

export type Toolset = (typeof TOOLSETS)[number];

/** Always listed, because answers of all tools refer to these. */
export const CONSTANT_TOOLSETS: readonly Toolset[] = ['account', 'jobs'];

/**
 * What agents ask for most, in the order of the default list, which has at most 4,000 tokens. All other tools are found by
 * `tools_search` and called by `tools_call`. A name without a tool is not listed.
 */
export const DEFAULT_TOOLS: readonly string[] = [
  'research_keyword',
  'research_product',
  'research_compare',
  'research_screen',
  'market_get_product',
  'market_search_products',
  'market_get_seller',
  'aba_search_keywords',
  'aba_get_word_detail',
  'web_trends_interest_over_time',
  'market_get_quota',
  'jobs_get_result',
];

/** A list of tools: those of toolsets, and the default list. */
export type Listing = readonly (Toolset | 'default')[];

/** Names for several toolsets. */
const FAMILIES: Readonly<Record<string, Listing>> = {
  market: ['products', 'categories', 'sellers', 'deals', 'visuals'],
  all: TOOLSETS,
};

export const TOOLSET_NAMES: readonly string[] = [...TOOLSETS, 'default', ...Object.keys(FAMILIES)];

/** Returns the listing of a text such as `market,aba`; null when a name is not in `TOOLSET_NAMES`. */
export function readToolsets(text: string): Listing | null {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0 || names.some((name) => !TOOLSET_NAMES.includes(name))) return null;
  return names.flatMap((name) =>
    Object.hasOwn(FAMILIES, name) ? (FAMILIES[name] ?? []) : (name as Toolset | 'default'),
  );
}
