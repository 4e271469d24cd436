import { describe, expect, test } from 'vitest';
import { product, upstreamOptions } from '../../../src/operations/market/product.ts';
import { asins, canonical } from '../../support/parameters.ts';

const read = (sent: object = {}) => canonical(product, { domain: 1, asins: 'B000000001', ...sent });
const identities = (sent: object) => product.source(read(sent)).map(({ identity }) => identity);

describe('the source identity of a product look-up', () => {
  test('is one for each ASIN, named by the ASIN', () => {
    const sources = product.source(read({ asins: asins(3) }));
    expect(sources.map(({ key }) => key)).toEqual(asins(3));
    expect(new Set(sources.map(({ identity }) => identity)).size).toBe(3);
  });

  test('of an ASIN is the same in every batch', () => {
    expect(identities({ asins: asins(40) })).toEqual(expect.arrayContaining(identities({ asins: asins(3) })));
  });

  test.each([
    { detailLevel: 'summary', rating: 0 },
    { detailLevel: 'full' },
    { days: 7 },
    { dateRange: { start: 0, end: 1 } },
    { update: 0 },
    { update: 5 },
    { country: 'us' },
    { history: true, rating: 'false', offers: '0' },
  ])('does not contain parameters that only affect presentation: %j', (sent) => {
    expect(identities(sent)).toEqual(identities({}));
  });

  test('differs with every parameter that changes the response of upstream', () => {
    const different = [
      {},
      { domain: 2 },
      { asins: 'B000000002' },
      { history: 0 },
      { stats: 30 },
      { stats: 31 },
      { rating: 1 },
      { buybox: 1 },
      { offers: 20 },
      { offers: 21 },
      { stock: 1 },
    ].flatMap(identities);
    expect(new Set(different).size).toBe(different.length);
  });

  test('is the same for all numbers of offers that need the same number of pages', () => {
    expect(identities({ offers: 1 })).toEqual(identities({ offers: 20 }));
    expect(identities({ offers: 7, buybox: 1 })).toEqual(identities({ offers: 20 }));
    expect(identities({ offers: 7, stock: 1 })).toEqual(identities({ stock: 1 }));
  });
});

describe('the request to upstream', () => {
  test('always includes statistics, which hold the current prices', () => {
    expect(upstreamOptions(read()).stats).toBe(90);
    expect(upstreamOptions(read({ stats: 7 })).stats).toBe(7);
    expect(upstreamOptions(read({ stats: Number.MAX_SAFE_INTEGER })).stats).toBe(10_000);
  });

  test.each([
    [0, 0],
    [1, 20],
    [19, 20],
    [20, 20],
    [21, 21],
    [100, 100],
  ])('requests %i offers as %i', (asked, sent) => {
    expect(upstreamOptions(read({ offers: asked })).offers).toBe(sent);
  });
});
