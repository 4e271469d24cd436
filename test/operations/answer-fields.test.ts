import { describe, expect, test } from 'vitest';
import { project } from '../../src/operations/answer-fields.ts';
import { rank } from '../../src/operations/brand-analytics/rank.ts';
import { word } from '../../src/operations/brand-analytics/word.ts';
import type { Source } from '../../src/operations/define.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import { deal } from '../../src/operations/market/deal.ts';
import { product } from '../../src/operations/market/product.ts';
import { productFinder } from '../../src/operations/market/product-finder.ts';
import { productSearch } from '../../src/operations/market/product-search.ts';
import { seller } from '../../src/operations/market/seller.ts';
import { variations } from '../../src/operations/market/variations.ts';
import { canonical, faultsOf, type TakingParameters } from '../support/parameters.ts';

const PRODUCT = { domain: 1, asins: 'B000000001' };
const fieldsOf = (operation: TakingParameters<unknown>, sent: object) =>
  (canonical(operation, sent) as { fields?: string[] }).fields;

describe('fields', () => {
  test('are canonical: sorted, unique, and relative to the records', () => {
    const same = [
      'title,asin,stats.current',
      ['title', 'stats.current', 'asin', 'title'],
      'products.title, products.asin ,stats.current',
    ];
    for (const fields of same)
      expect(fieldsOf(product, { ...PRODUCT, fields })).toEqual(['asin', 'stats.current', 'title']);
    expect('fields' in canonical(product, PRODUCT)).toBe(false);
  });

  test.each([
    [
      rank.name,
      { country: 'us' },
      'rank,titel',
      /^item 2 must be a field of rows, such as wordId, .*, got "titel"$/,
    ],
    [
      rank.name,
      { country: 'us' },
      'goods.asin,goods.price',
      /^item 2 must be a field of rows, .*"goods.price"; did you mean goods\.\w+/,
    ],
    [rank.name, { country: 'us' }, 'rank.x', /^item 1 must be a field of rows, .*, got "rank.x"$/],
    [
      word.name,
      { wordId: 33 },
      'rows',
      /^item 1 must be a field of the answer, such as word, .*, got "rows"$/,
    ],
    [product.name, PRODUCT, 'nonsense.x', /^item 1 must be a field of products, .*, got "nonsense.x"$/],
    [product.name, PRODUCT, 'count', /^item 1 must be a field of products, .*, got "count"$/],
    [product.name, PRODUCT, 'csv.amazon', /^item 1 must be a field of products, .*, got "csv.amazon"$/],
    [product.name, PRODUCT, 'a..b', /^item 1 must be a dotted name/],
    [product.name, PRODUCT, 'x'.repeat(201), /^item 1 must be at most 200 characters/],
    [product.name, PRODUCT, '', /^is empty: it must be 1 to 100 fields$/],
    [product.name, PRODUCT, [7], /^item 1 must be a text, got 7$/],
    [deal.name, { domainId: 1 }, 'deals.dr', /^item 1 must be a field of deals.dr/],
    [
      productFinder.name,
      { domain: 1, title: 'x' },
      'asins',
      /^item 1 must be a field of the answer, .*got "asins"$/,
    ],
  ] as const)('of %s with %j are refused as %j', (name, sent, fields, problem) => {
    expect(faultsOf(queuedOperation(name) as TakingParameters<unknown>, { ...sent, fields })).toEqual({
      fields: expect.stringMatching(problem),
    });
  });

  test('are refused together with the other faults of a request', () => {
    const faults = faultsOf(rank, { country: 'xx', fields: 'nope' });
    expect(Object.keys(faults).sort()).toEqual(['country', 'fields']);
  });

  test('of a product are those of the model, of the provider and of decoded histories', () => {
    const fields =
      'stats.buyBoxPrice,eanList,fbaFees.pickAndPackFee,history.amazon.value,statistics.avg30.new,bsr,codes';
    expect(fieldsOf(product, { ...PRODUCT, decode: 1, fields })).toHaveLength(7);
    for (const [operation, sent] of [
      [productSearch, { domain: 1, term: 'x' }],
      [variations, { domain: 1, asin: 'B000000001' }],
    ] as const) {
      const untyped = operation as TakingParameters<unknown>;
      expect(fieldsOf(untyped, { ...sent, fields: 'packageWeight' })).toHaveLength(1);
      expect(faultsOf(untyped, { ...sent, fields: 'nonsense' })).toHaveProperty('fields');
    }
  });

  test.each([
    [product.name, PRODUCT, 'history.amazon', 'decode=1'],
    [product.name, { ...PRODUCT, decode: 1 }, 'history.buyBox.value', 'buybox=1'],
    [product.name, { ...PRODUCT, decode: 1 }, 'statistics.current.rating', 'rating=1'],
    [product.name, { ...PRODUCT, decode: 1 }, 'history.salesRanks', 'detailLevel=full'],
    [product.name, { ...PRODUCT, decode: 1, history: 0 }, 'history', 'history=1'],
    [
      product.name,
      { ...PRODUCT, decode: 1, detailLevel: 'summary' },
      'history.buyBox',
      'detailLevel=lite or full and buybox=1',
    ],
    [productSearch.name, { domain: 1, term: 'x', decode: 1 }, 'history.new', 'history=1'],
    [
      productSearch.name,
      { domain: 1, term: 'x', decode: 1, history: 1 },
      'history.buyBox',
      'a look-up of the products with buybox=1',
    ],
    [
      variations.name,
      { domain: 1, asin: 'B000000001', decode: 1, detailLevel: 'lite' },
      'history.amazon',
      'detailLevel=full',
    ],
  ] as const)('of %s with %j are refused without what %s needs: %s', (name, sent, fields, needed) => {
    expect(faultsOf(queuedOperation(name) as TakingParameters<unknown>, { ...sent, fields })).toEqual({
      fields: `${fields} needs ${needed}`,
    });
  });

  test('of decoded products are accepted with what they need', () => {
    for (const sent of [{ buybox: 1 }, { offers: 20 }, { stock: 1 }])
      expect(fieldsOf(product, { ...PRODUCT, ...sent, decode: 1, fields: 'history.buyBox' })).toHaveLength(1);
    for (const fields of ['history.amazon', 'history.monthlySold', 'statistics.avg.new', 'history'])
      expect(fieldsOf(product, { ...PRODUCT, decode: 1, fields })).toEqual([fields]);
  });

  test('may have any name below an object of the provider, and any key in a map', () => {
    expect(fieldsOf(product, { ...PRODUCT, fields: 'offers.someNewField,salesRanks.281052' })).toHaveLength(
      2,
    );
    expect(
      fieldsOf(seller, { domain: 1, seller: 'A2L77EE7U53NWQ', fields: 'sellerName,address' }),
    ).toHaveLength(2);
    expect(
      fieldsOf(productFinder, { domain: 1, title: 'x', fields: 'searchInsights.avgBuyBox' }),
    ).toHaveLength(1);
  });

  test('do not change the sources of a call', () => {
    for (const [operation, sent] of [
      [product, PRODUCT],
      [productFinder, { domain: 1, title: 'x' }],
      [deal, { domainId: 1 }],
      [rank, { country: 'us' }],
    ] as const) {
      const { source } = operation as { source(input: unknown): readonly Source[] };
      const identities = (input: unknown) => source(input).map(({ key, identity }) => [key, identity]);
      const all = canonical(operation as TakingParameters<unknown>, sent);
      const chosen = identities({ ...(all as object), fields: ['asin'], format: 'csv' });
      expect(chosen.length).toBeGreaterThan(0);
      expect(chosen).toEqual(identities(all));
    }
  });
});

describe('a projection', () => {
  const data = {
    country: 'us',
    products: [
      { asin: 'A', title: 'T', stats: { current: [1], avg: [2] }, images: [{ l: 'x', m: 'y' }, { l: 'z' }] },
      { asin: 'B', title: null, stats: null },
    ],
  };
  const records = { path: 'products', ids: ['asin'] };

  test('keeps the selected fields in their order, the id, and everything around the records', () => {
    expect(project({ records }, data, ['stats.current', 'images.l', 'title', 'absent.x'])).toEqual({
      country: 'us',
      products: [
        { asin: 'A', title: 'T', stats: { current: [1] }, images: [{ l: 'x' }, { l: 'z' }] },
        { asin: 'B', title: null, stats: null },
      ],
    });
    expect(data.products[0]).toHaveProperty('stats.avg');
  });

  test('keeps a whole field that is selected together with a part of it, in either order', () => {
    for (const fields of [
      ['stats', 'stats.avg'],
      ['stats.avg', 'stats'],
    ])
      expect(project({ records }, data, fields).products).toMatchObject([
        data.products[0]?.stats && { stats: data.products[0].stats },
        {},
      ]);
  });

  test('reaches records in a map, and records within another object', () => {
    const sellers = { sellers: { A1: { sellerName: 'x', csv: [] } } };
    expect(project({ records: { path: 'sellers' } }, sellers, ['sellerName'])).toEqual({
      sellers: { A1: { sellerName: 'x' } },
    });
    const deals = { deals: { dr: [{ asin: 'A', title: 'T' }], categoryIds: [9007199254740993n] } };
    expect(project({ records: { path: 'deals.dr' } }, deals, ['title'])).toEqual({
      deals: { dr: [{ title: 'T' }], categoryIds: [9007199254740993n] },
    });
  });

  test('of an answer without records selects fields of the answer', () => {
    expect(project({}, { asinList: ['A'], total: 1 }, ['total'])).toEqual({ total: 1 });
    expect(project({ records }, { asinList: ['A'] }, ['title'])).toEqual({ asinList: ['A'] });
  });
});
