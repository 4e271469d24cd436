import { expect, test } from 'vitest';
import { OPERATIONS, QUEUED, queuedOperation } from '../../src/operations/index.ts';
import { POOL_NAMES } from '../../src/operations/pools.ts';
import { HANDLERS } from '../../workers/handlers/index.ts';

const addresses = OPERATIONS.flatMap(({ routes }) =>
  routes.map(({ method, path, type }) => `${method} ${path}${type ? `?type=${type}` : ''}`),
);

test('no two operations share a name', () => {
  const names = OPERATIONS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('no two routes share method and path', () => {
  expect(new Set(addresses).size).toBe(addresses.length);
});

test('every path lies below /api/, in lower case', () => {
  for (const address of addresses)
    expect(address).toMatch(/^(GET|POST) \/api\/[a-z/-]+(:wordId[a-z/]*)?(\?type=[a-z]+)?$/);
});

test.each([
  'GET /api/market/product',
  'POST /api/market/product',
  'GET /api/market/variations',
  'POST /api/market/variations',
  ...['productfinder', 'query', 'deal', 'deals'].flatMap((path) => [
    `GET /api/market/${path}`,
    `POST /api/market/${path}`,
  ]),
  'GET /api/market/productsearch',
  'GET /api/market/search?type=product',
  'GET /api/market/search?type=category',
  'GET /api/market/categorysearch',
  'GET /api/market/category',
  'GET /api/market/bestseller',
  'GET /api/market/bestsellers',
  'GET /api/market/seller',
  'GET /api/market/topseller',
  'GET /api/market/lightningdeal',
  'GET /api/market/graphimage',
  'POST /api/webtrends/interest-over-time',
  'POST /api/webtrends/interest-by-region',
  'POST /api/webtrends/related-queries',
  'POST /api/webtrends/related-topics',
  'GET /api/webtrends/daily-trends',
  'GET /api/webtrends/real-time-trends',
  'GET /api/market/charturl',
  'GET /api/retail/imageurl',
  'GET /api/aba/countries',
  'GET /api/aba/report-dates',
  'GET /api/aba/rank',
  'GET /api/research/screen',
  'POST /api/research/screen',
  'GET /api/aba/search',
  'GET /api/aba/word/:wordId',
  'GET /api/aba/word/:wordId/history',
  'GET /api/aba/word/:wordId/goods',
  'POST /api/aba/asin-reverse',
  'GET /api/quota',
  'GET /api/token',
])('has the operation %s', (address) => {
  expect(addresses).toContain(address);
});

test('an alias resolves to its operation', () => {
  const quota = OPERATIONS.find(({ routes }) => routes.some(({ path }) => path === '/api/quota'));
  expect(quota?.routes.map(({ path }) => path)).toEqual(['/api/quota', '/api/token']);
  expect(quota?.kind).toBe('local');
});

test('every queued operation has a handler, and every handler an operation', () => {
  expect(Object.keys(HANDLERS).sort()).toEqual(QUEUED.map(({ name }) => name).sort());
  for (const handler of Object.values(HANDLERS)) expect(handler).toBeTypeOf('function');
});

test('a queued operation is found by its name', () => {
  for (const operation of QUEUED) expect(queuedOperation(operation.name)).toBe(operation);
  expect(queuedOperation('account.quota')).toBeUndefined();
  expect(queuedOperation('constructor')).toBeUndefined();
});

test('every operation has a summary that is a sentence', () => {
  for (const { summary } of OPERATIONS) expect(summary).toMatch(/^[A-Z].+\.$/);
});

test('every contract has an existing pool, a whole price and a source for a sample input', () => {
  const inputs: Record<string, unknown> = {
    'market.product': { domain: '1', asins: 'B0AA11BB22,B0CC11BB22' },
    'market.variations': { domain: '1', asin: 'B0AA11BB22' },
    'market.productfinder': { domain: 1, title: 'pump' },
    'market.productsearch': { domain: '1', term: 'pump' },
    'market.categorysearch': { domain: '1', term: 'pump' },
    'market.category': { domain: '1', category: '0' },
    'market.bestseller': { domain: '1', category: '5' },
    'market.seller': { domain: '1', seller: 'ASELLER00001' },
    'market.topseller': { domain: '1' },
    'market.deal': { domainId: 1 },
    'market.lightningdeal': { domain: '1' },
    'market.graphimage': { domain: '1', asin: 'B0AA11BB22' },
    'trends.interest-over-time': { keyword: 'pizza' },
    'trends.interest-by-region': { keyword: 'pizza' },
    'trends.related-queries': { keyword: 'pizza,bagel' },
    'trends.related-topics': { keyword: ['pizza', 'bagel'] },
    'trends.daily-trends': {},
    'trends.real-time-trends': {},
    'aba.reportdates': { country: 'us' },
    'aba.rank': { country: 'us' },
    'aba.export': { country: 'us' },
    'research.screen': { country: 'us' },
    'aba.search': { country: 'us', keyword: 'pump' },
    'aba.word': { wordId: '33' },
    'aba.wordhistory': { wordId: '33' },
    'aba.wordgoods': { wordId: '33', country: 'us', reportDate: '2026-04-11' },
    'aba.asinreverse': { asins: ['B0AA11BB22'] },
    'research.keyword': { country: 'us', keyword: 'pump' },
    'research.product': { domain: '1', asin: 'B0AA11BB22' },
    'research.compare': { domain: '1', asins: 'B0AA11BB22,B0AA11BB23' },
  };
  expect(Object.keys(inputs).sort()).toEqual(QUEUED.map(({ name }) => name).sort());
  for (const operation of QUEUED) {
    const input = operation.params.parse(inputs[operation.name]);
    expect(POOL_NAMES).toContain(operation.queue(input));
    expect(operation.pools).toContain(operation.queue(input));
    expect(operation.price.quote(input)).toBeGreaterThanOrEqual(1);
    expect(Number.isInteger(operation.price.quote(input))).toBe(true);
    const identities = operation.source(input).map(({ identity }) => identity);
    expect(identities.length).toBeGreaterThan(0);
    expect(new Set(identities).size).toBe(identities.length);
  }
});
