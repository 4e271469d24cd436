import { OPERATIONS } from '../../src/operations/index.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import type { Client, Reply } from './client.ts';
import { csvReport, load, type TestTerm } from './reports.ts';

/** The newest week that `loadKeywords` loads, and the id of a term in it: the first of the site US. */
const KEYWORD_WEEK = '2026-04-11';
export const KNOWN_WORD = 33;

/**
 * Valid requests to every operation, in the form of a body; tests convert them to a query if needed. The demo provider has
 * data for each of them, but none for ids that start with ZX.
 */
export const OPERATION_SAMPLES: Record<string, readonly Record<string, unknown>[]> = {
  'account.quota': [{}],
  'market.product': [
    { domain: 1, asins: ['B0C3CDEF01', 'ZX00000000', 'ZZ00000000'], detailLevel: 'summary' },
    { country: 'DE', asins: ['B0C3CDEF02'], detailLevel: 'lite', stats: 30, rating: true, buybox: true },
    { domainId: 1, asins: ['B0C3CDEF03'], detailLevel: 'full', stats: 30, offers: 20, stock: true, days: 30 },
    { domain: 1, codes: ['0006215059468', '9780306406157'], detailLevel: 'summary' },
  ],
  'market.variations': [
    { domain: 1, asin: 'B0C3CDEF01', detailLevel: 'summary', perPage: 2 },
    { domain: 1, asin: 'B0C3CDEF01', detailLevel: 'lite', perPage: 3 },
    { domain: 1, asin: 'B0C3CDEF01', detailLevel: 'full', perPage: 3, page: 1 },
    { domain: 1, asin: 'A000000001' },
  ],
  'market.productfinder': [
    { domain: 1, current_SALES_lte: 5000 },
    { domain: 1, title: 'a', stats: 1, sort: [['monthlySold', 'desc']] },
  ],
  'market.productsearch': [
    { domain: 1, term: 'pump' },
    { domain: 1, term: 'pump', asinsOnly: true },
    { domain: 1, term: 'pump', detailLevel: 'full', stats: '30', historyDays: 30, rating: true },
    { domain: 1, term: 'pump', detailLevel: 'summary', page: 1 },
  ],
  'market.categorysearch': [{ domain: 1, term: 'kitchen' }],
  'market.category': [
    { domain: 1, category: 0 },
    { domain: 1, category: 200000, parents: true, children: true },
  ],
  'market.bestseller': [
    { domain: 1, category: 200000 },
    { domain: 1, category: 200000, range: 30, perPage: 10 },
  ],
  'market.seller': [
    { domain: 1, seller: ['ABWRICYPI40AC8', 'AKT8ZJ45IBZW2X', 'AUNKNOWN000000'] },
    { domain: 1, seller: ['AKT8ZJ45IBZW2X'], storefront: true, csvDays: 30, perPage: 5 },
  ],
  'market.topseller': [{ domain: 1 }, { domain: 1, page: 1, perPage: 5 }],
  'market.deal': [{ domainId: 1 }, { domainId: 1, page: 1, isFilterEnabled: true, minRating: 40 }],
  'market.lightningdeal': [
    { domain: 1 },
    { domain: 1, asin: 'B0C3CDEF01' },
    { domain: 1, state: 'AVAILABLE' },
  ],
  'market.graphimage': [{ domain: 1, asin: 'B0C3CDEF01', width: 400, cfont: 'ff8800' }],
  'trends.interest-over-time': [{ keyword: ['kettle', 'teapot'], timezone: 60 }],
  'trends.interest-by-region': [{ keyword: 'kettle' }, { keyword: ['kettle', 'teapot'], resolution: 'CITY' }],
  'trends.related-queries': [{ keyword: ['kettle', 'teapot'] }],
  'trends.related-topics': [{ keyword: 'kettle', geo: 'US' }],
  'trends.daily-trends': [{ geo: 'US' }],
  'trends.real-time-trends': [{ geo: 'DE', hl: 'de' }, { category: 't' }],
  'aba.countries': [{}],
  'aba.reportdates': [{ country: 'us' }],
  'aba.rank': [
    { country: 'us', limit: 2 },
    { country: 'us', reportDate: KEYWORD_WEEK, offset: 0, keyword: 'lamp', brand: 'lumio', clickSumMin: 1 },
  ],
  'aba.search': [{ country: 'us', keyword: 'lamp' }],
  'aba.word': [{ wordId: KNOWN_WORD }],
  'aba.wordhistory': [{ wordId: KNOWN_WORD, limit: 2 }],
  'aba.wordgoods': [{ wordId: KNOWN_WORD, country: 'us', reportDate: KEYWORD_WEEK }],
  'aba.asinreverse': [{ asins: ['B0C3CDEF01', 'B0C3CDEF02'] }, { asins: ['B0C3CDEF01'], country: 'us' }],
  'aba.export': [
    { country: 'us', fileFormat: 'csv' },
    { country: 'us', reportDate: KEYWORD_WEEK },
  ],
  'research.keyword': [
    { country: 'us', keyword: 'desk lamp', weeks: 4 },
    { country: 'us', keyword: 'Desk Lamp', weeks: 2, trends: true },
  ],
  'research.product': [
    { domain: 1, asin: 'B0C3CDEF01', cost: 4.5, otherCosts: 1 },
    { country: 'DE', asin: 'B0C3CDEF02', weeks: 2, days: 2 },
  ],
  'research.compare': [{ domain: 1, asins: ['B0C3CDEF01', 'B0C3CDEF02'], days: 3 }],
  'research.screen': [
    { country: 'us', limit: 2 },
    {
      country: 'us',
      week: KEYWORD_WEEK,
      words: ['lam'],
      notWords: ['garden'],
      brand: 'lumio',
      newSince: '2026-01-01',
      sort: '-clickShare',
    },
  ],
  'market.charturl': [{ domain: 1, asins: ['B0C3CDEF01', 'b0c3cdef02'] }],
  'retail.imageurl': [{ domain: 1, images: ['51abcDEFgh1L.jpg'] }],
};

/** Loads the data of the brand-analytics samples. */
export async function loadKeywords(database: Database): Promise<void> {
  const lamp: TestTerm = {
    term: 'desk lamp',
    rank: 1,
    brands: ['Lumio'],
    categories: ['Office Products'],
    products: [['B0C3CDEF01', 'A lamp', '20', '']],
  };
  const before = csvReport('2026-04-04', [{ ...lamp, rank: 9 }]);
  await load(database, 'us', before);
  await load(database, 'us', csvReport(KEYWORD_WEEK, [lamp, { term: 'garden hose', rank: 2 }]));
}

/** Returns the first sample of an operation. */
export function sampleOf(operation: string): Record<string, unknown> {
  const [first] = OPERATION_SAMPLES[operation] ?? [];
  if (!first) throw new Error(`test/support/operation-samples.ts has nothing for ${operation}`);
  return first;
}

/** Sends the first sample of an operation to its first address, with something added to the query. */
export function sendSample(client: Client, operation: string, option = ''): Promise<Reply> {
  const sample = sampleOf(operation);
  const route = OPERATIONS.find(({ name }) => name === operation)?.routes[0];
  if (!route) throw new Error(`there is no operation ${operation}`);
  const path = route.path.replace(/:(\w+)/g, (_, field: string) => String(sample[field]));
  if (route.method === 'POST') return client.post(`${path}?${option}`, sample);
  const fields = route.jsonParameter
    ? [[route.jsonParameter, JSON.stringify(sample)]]
    : Object.entries(sample).map(([field, value]) => [field, String(value)]);
  return client.get(`${path}?${new URLSearchParams(fields).toString()}&${option}`);
}
