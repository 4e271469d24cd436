import type { Database } from '../../src/platform/db/pool.ts';
import type { Client, Reply } from './client.ts';
import { csvReport, load, type TestTerm } from './reports.ts';

/** A request to an operation, and one that is refused for a parameter. */
export interface Example {
  path: string;
  body?: object;
  wrong: { path: string; body?: object };
}

/** Sends a request, with something added to its query. */
export function send(
  client: Client,
  { path, body }: Pick<Example, 'path' | 'body'>,
  option = '',
): Promise<Reply> {
  const address = `/api/${path}${option && (path.includes('?') ? '&' : '?')}${option}`;
  return body ? client.post(address, body) : client.get(address);
}

/** An example of a marketplace operation, for which the demo provider has data. */
function market(path: string): Example {
  return { path, wrong: { path: path.replace(/domain(=|%22%3A|Id%22%3A)1/, 'domain$17') } };
}

function selection(fields: object): string {
  return `selection=${encodeURIComponent(JSON.stringify(fields))}`;
}

function keyword(path: string): Example {
  return { path, body: { keyword: 'pizza' }, wrong: { path, body: { keyword: '' } } };
}

function list(path: string): Example {
  return { path: `${path}?geo=US`, wrong: { path: `${path}?geo=nowhere` } };
}

const EXAMPLE_WEEK = '2026-02-28';
const EXAMPLE_ASIN = 'B0C3CDEF01';

/** Loads the data of the brand-analytics examples: one week of one site with one term. */
export async function loadExampleReport(database: Database): Promise<void> {
  const products: TestTerm['products'] = [[EXAMPLE_ASIN, 'A pump', '20', '10']];
  await load(database, 'us', csvReport(EXAMPLE_WEEK, [{ term: 'bicycle pump', rank: 1, products }]));
}

/** The id of that term. */
const EXAMPLE_WORD = 33;

function analytics(path: string, wrong: string): Example {
  return { path: `aba/${path}`, wrong: { path: `aba/${wrong}` } };
}

/** A request to every operation, by name; the paths follow /api/. */
export const EXAMPLES: Record<string, Example> = {
  'market.product': market('market/product?domain=1&asins=B0C3CDEF01,B0C3CDEF02'),
  'market.variations': market('market/variations?domain=1&asin=B0C3CDEF01&detailLevel=summary'),
  'market.productfinder': market(
    `market/productfinder?${selection({ domain: 1, stats: 1, current_SALES_lte: 5000 })}`,
  ),
  'market.productsearch': market('market/productsearch?domain=1&term=pump'),
  'market.categorysearch': market('market/categorysearch?domain=1&term=kitchen'),
  'market.category': market('market/category?domain=1&category=0'),
  'market.bestseller': market('market/bestseller?domain=1&category=200000&perPage=10'),
  'market.seller': market('market/seller?domain=1&seller=AKT8ZJ45IBZW2X&storefront=1'),
  'market.topseller': market('market/topseller?domain=1&perPage=5'),
  'market.deal': market(`market/deal?${selection({ domainId: 1 })}`),
  'market.lightningdeal': market('market/lightningdeal?domain=1'),
  'market.graphimage': market('market/graphimage?domain=1&asin=B0C3CDEF01'),
  'trends.interest-over-time': keyword('webtrends/interest-over-time'),
  'trends.interest-by-region': keyword('webtrends/interest-by-region'),
  'trends.related-queries': keyword('webtrends/related-queries'),
  'trends.related-topics': keyword('webtrends/related-topics'),
  'trends.daily-trends': list('webtrends/daily-trends'),
  'trends.real-time-trends': list('webtrends/real-time-trends'),
  'aba.countries': analytics('countries', 'countries'),
  'aba.reportdates': analytics('report-dates?country=us', 'report-dates?country=br'),
  'aba.rank': analytics('rank?country=us', 'rank?country=us&limit=0'),
  'research.screen': {
    path: 'research/screen?country=us',
    wrong: { path: 'research/screen?country=us&rankMin=0' },
  },
  'aba.search': analytics('search?country=us&keyword=pump', 'search?country=us'),
  'aba.word': analytics(`word/${EXAMPLE_WORD}`, 'word/none'),
  'aba.wordhistory': analytics(`word/${EXAMPLE_WORD}/history`, `word/${EXAMPLE_WORD}/history?limit=0`),
  'aba.wordgoods': analytics(
    `word/${EXAMPLE_WORD}/goods?country=us&reportDate=${EXAMPLE_WEEK}`,
    `word/${EXAMPLE_WORD}/goods?country=us`,
  ),
  'aba.asinreverse': {
    path: 'aba/asin-reverse',
    body: { asins: [EXAMPLE_ASIN] },
    wrong: { path: 'aba/asin-reverse', body: { asins: ['B0'] } },
  },
  'account.quota': { path: 'quota', wrong: { path: 'quota' } },
  'market.charturl': market('market/charturl?domain=1&asins=B0C3CDEF01'),
  'retail.imageurl': market('retail/imageurl?domain=1&images=31abc.jpg'),
};
