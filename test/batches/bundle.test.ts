import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BundledCall, bundleItems, type Item } from '../../src/batches/bundle.ts';
import type { QueuedOperation } from '../../src/operations/define.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import { asinsFrom } from '../support/batches.ts';

const product = operation('market.product');
const seller = operation('market.seller');

function operation(name: string): QueuedOperation {
  const found = queuedOperation(name);
  if (!found) throw new Error(`no operation ${name}`);
  return found;
}

function itemsOf({ params }: QueuedOperation, raws: readonly unknown[]): Item[] {
  return raws.map((raw) => ({ raw, input: params.parse(raw) }));
}

function bundled(of: QueuedOperation, raws: readonly unknown[], options = {}): BundledCall[] {
  return [...bundleItems(of, itemsOf(of, raws), options)];
}

const inputOf = ({ input }: BundledCall) => input as Record<string, unknown>;

const productItem = fc.record({
  domain: fc.constantFrom(1, 2),
  // The set is small, so that consecutive items share ASINs.
  asins: fc.array(fc.constantFrom(...asinsFrom('B0PK', 150)), { minLength: 1, maxLength: 40 }),
  detailLevel: fc.constantFrom('summary', 'lite'),
});

test('every item is in one call, in order, and each call requests exactly the data of its items', () => {
  fc.assert(
    fc.property(
      fc.array(productItem, { minLength: 1, maxLength: 60 }),
      fc.nat({ max: 1000 }),
      (raws, firstItem) => {
        const calls = bundled(product, raws, { firstItem });
        expect(calls.flatMap(({ items }) => items)).toEqual(raws);
        let next = firstItem;
        for (const call of calls) {
          expect(call.firstItem).toBe(next);
          next += call.items.length;
          const wanted = new Set(
            itemsOf(product, call.items).flatMap(({ input }) => (input as { asins: string[] }).asins),
          );
          expect(inputOf(call).asins).toEqual([...wanted].sort());
          expect(wanted.size).toBeLessThanOrEqual(100);
          expect(call.units).toBe(wanted.size);
          // The input is canonical, so a request with the same parameters is the same call.
          expect(product.params.parse(call.input)).toEqual(call.input);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('items of one call differ only in their ASINs', () => {
  fc.assert(
    fc.property(fc.array(productItem, { minLength: 2, maxLength: 40 }), (raws) => {
      for (const call of bundled(product, raws)) {
        const { asins: _, ...shared } = inputOf(call);
        for (const { input } of itemsOf(product, call.items)) expect(input).toMatchObject(shared);
      }
    }),
    { numRuns: 60 },
  );
});

test('bundles a hundred thousand ASINs into a thousand calls', () => {
  const asins = asinsFrom('B', 100_000);
  const calls = bundled(
    product,
    asins.map((asin) => ({ domain: 1, asin })),
  );
  expect(calls).toHaveLength(1000);
  expect(new Set(calls.map(({ units }) => units))).toEqual(new Set([100]));
  expect(calls.every(({ pool }) => pool === 'market')).toBe(true);
});

test('items whose options differ only in spelling share a call', () => {
  const raws = [
    { domain: 1, asins: ['B0SAME0001'], history: true },
    { country: 'us', asin: 'b0same0002', history: '1' },
    { domainId: '1', asins: 'B0SAME0003' },
  ];
  expect(bundled(product, raws)).toMatchObject([
    { items: raws, units: 3, input: { asins: ['B0SAME0001', 'B0SAME0002', 'B0SAME0003'] } },
  ]);
});

test('a repeated ASIN costs one unit in each call, and a call has at most 100 items', () => {
  const calls = bundled(
    product,
    Array.from({ length: 250 }, () => ({ domain: 1, asin: 'B0TWICE001' })),
  );
  expect(calls.map(({ items, units }) => [items.length, units])).toEqual([
    [100, 1],
    [100, 1],
    [50, 1],
  ]);
});

test('items with codes share a call, but not with items with ASINs', () => {
  const raws = [{ code: '036000291452' }, { codes: ['4006381333931'] }, { asin: 'B0CODES001' }];
  const calls = bundled(
    product,
    raws.map((raw) => ({ domain: 1, ...raw })),
  );
  expect(calls.map(({ units, input }) => [units, input])).toMatchObject([
    [2, { codes: ['036000291452', '4006381333931'], asins: undefined }],
    [1, { asins: ['B0CODES001'] }],
  ]);
});

test('an item that does not fit starts the next call', () => {
  const [first = [], second = [], third = []] = [70, 40, 30].map((count, i) => asinsFrom(`B0FIT${i}`, count));
  const calls = bundled(
    product,
    [first, second, third].map((asins) => ({ domain: 1, asins })),
  );
  expect(calls.map(({ units, firstItem }) => [firstItem, units])).toEqual([
    [0, 70],
    [1, 70],
  ]);
});

test('sellers share a call, and storefronts do not', () => {
  const raws = (options: object) =>
    asinsFrom('ASELLER', 3).map((id) => ({ domain: 1, seller: id, ...options }));
  expect(bundled(seller, raws({}))).toMatchObject([{ units: 3, pool: 'market' }]);
  expect(bundled(seller, raws({ storefront: 1 })).map(({ units, pool }) => [units, pool])).toEqual([
    [10, 'storefront'],
    [10, 'storefront'],
    [10, 'storefront'],
  ]);
  // A storefront between two sellers that could share a call.
  const mixed = [...raws({}).slice(0, 1), ...raws({ storefront: 1 }).slice(1, 2), ...raws({}).slice(2)];
  expect(bundled(seller, mixed)).toHaveLength(3);
});

test('an operation without a list parameter has a call for each item', () => {
  const search = operation('market.productsearch');
  const raws = ['kettle', 'kettle', 'lamp'].map((term) => ({ domain: 1, term }));
  expect(bundled(search, raws).map(({ units, items }) => [units, items.length])).toEqual([
    [5, 1],
    [5, 1],
    [5, 1],
  ]);
});

test('a call of several items costs at most maxUnits', () => {
  fc.assert(
    fc.property(
      fc.array(productItem, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 60 }),
      (raws, maxUnits) => {
        const calls = bundled(product, raws, { maxUnits });
        expect(calls.flatMap(({ items }) => items)).toEqual(raws);
        for (const { units, items } of calls)
          if (items.length > 1) expect(units).toBeLessThanOrEqual(maxUnits);
      },
    ),
    { numRuns: 60 },
  );
});
