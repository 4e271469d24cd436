import { expect, test } from 'vitest';
import { OPERATIONS, QUEUED, queuedOperation } from '../../src/operations/index.ts';
import { POOL_NAMES } from '../../src/operations/pools.ts';
import { HANDLERS } from '../../workers/handlers/index.ts';
import { sampleOf } from '../support/operation-samples.ts';
import { rows, words } from '../support/words.ts';

const addresses = OPERATIONS.flatMap(({ routes }) =>
  routes.map(({ method, path, type }) => `${method} ${path}${type ? `?type=${type}` : ''}`),
);

test('no two operations share a name', () => {
  const names = OPERATIONS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('every path lies below /api/, in lower case', () => {
  for (const address of addresses)
    expect(address).toMatch(/^(GET|POST) \/api\/[a-z/-]+(:wordId[a-z/]*)?(\?type=[a-z]+)?$/);
});

test.each(
  rows(`
    GET POST | market/product market/variations market/productfinder market/query market/deal market/deals research/screen
    GET | market/productsearch market/search?type=product market/search?type=category market/categorysearch market/category
    GET | market/bestseller market/bestsellers market/seller market/topseller market/lightningdeal market/graphimage
    POST | webtrends/interest-over-time webtrends/interest-by-region webtrends/related-queries webtrends/related-topics
    GET | webtrends/daily-trends webtrends/real-time-trends market/charturl retail/imageurl quota token
    GET | aba/countries aba/report-dates aba/rank aba/search aba/word/:wordId aba/word/:wordId/history aba/word/:wordId/goods
    POST | aba/asin-reverse
  `).flatMap(([methods = '', paths = '']) =>
    words(methods).flatMap((method) => words(paths).map((path) => `${method} /api/${path}`)),
  ),
)('has the operation %s', (address) => {
  expect(addresses).toContain(address);
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
  for (const operation of QUEUED) {
    const input = operation.params.parse(sampleOf(operation.name));
    expect(POOL_NAMES).toContain(operation.queue(input));
    expect(operation.pools).toContain(operation.queue(input));
    expect(operation.price.quote(input)).toBeGreaterThanOrEqual(1);
    expect(Number.isInteger(operation.price.quote(input))).toBe(true);
    const identities = operation.source(input).map(({ identity }) => identity);
    expect(identities.length).toBeGreaterThan(0);
    expect(new Set(identities).size).toBe(identities.length);
  }
});
