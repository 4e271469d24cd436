import { expect, test } from 'vitest';
import { bundleItems } from '../../src/batches/bundle.ts';
import { contentHash, itemHash, itemResults } from '../../src/batches/results.ts';
import type { QueuedOperation } from '../../src/operations/define.ts';
import { queuedOperation } from '../../src/operations/index.ts';

const NOW = Date.parse('2026-03-04T10:00:00.000Z');

function operation(name: string): QueuedOperation {
  const found = queuedOperation(name);
  if (!found) throw new Error(`no operation ${name}`);
  return found;
}

/** Returns the answer of an operation to an input, from the data of upstream. */
function answered({ respond }: QueuedOperation, input: unknown, found: ReadonlyMap<string, unknown>) {
  if (respond.type !== 'json') throw new Error('a picture');
  return { ...respond.present(found, input, { now: NOW }).data, fromCache: false };
}

function record(key: string): Record<string, unknown> {
  return {
    asin: key,
    sellerId: key,
    productType: 0,
    title: `Thing ${key}`,
    domainId: 1,
    csv: [[7_000_000, 1999]],
  };
}

test.each<[string, Record<string, unknown>[], string[]]>([
  [
    'market.product',
    [
      { domain: 1, asin: 'B0LINES001' },
      { domain: 1, asins: ['B0LINES003', 'B0LINES002'] },
      { domain: 1, asin: 'B0MISSING1' },
      { domain: 1, asins: ['B0MISSING1', 'B0LINES001'] },
    ],
    ['B0LINES001', 'B0LINES002', 'B0LINES003'],
  ],
  [
    'market.seller',
    [
      { domain: 1, seller: 'ASELLER0001' },
      { domain: 1, seller: ['ASELLER0003', 'ASELLER0002'] },
      { domain: 1, seller: 'ANOBODY0001' },
    ],
    ['ASELLER0001', 'ASELLER0002', 'ASELLER0003'],
  ],
])('an item of %s has the same answer from a shared call as from a call of its own', (name, raws, known) => {
  const of = operation(name);
  const found = new Map(known.map((key) => [key, record(key)]));
  const items = raws.map((raw) => ({ raw, input: of.params.parse(raw) }));
  const [call, ...others] = bundleItems(of, items, { firstItem: 40 });
  if (!call) throw new Error('no call');
  expect(others).toEqual([]);
  const results = itemResults(of, call, { data: answered(of, call.input, found) });
  expect(results.map(({ index, raw }) => [index, raw])).toEqual(raws.map((raw, i) => [40 + i, raw]));
  expect(results.map(({ data }) => data)).toEqual(items.map(({ input }) => answered(of, input, found)));
});

test('an item with a call of its own receives the whole answer', () => {
  const data = { products: [{ asin: 'B0WHOLE001' }], errors: [], more: 1 };
  const call = { firstItem: 3, items: [{ domain: 1, asin: 'B0WHOLE001' }] };
  expect(itemResults(operation('market.product'), call, { data })).toMatchObject([{ index: 3, data }]);
});

test('the content does not depend on freshness fields, and the identity of an item does not depend on the order of its parameters', () => {
  expect(contentHash({ a: 1, fromCache: true, products: [{ lastUpdate: 5, b: 2 }] })).toEqual(
    contentHash({ products: [{ b: 2, lastUpdate: 6 }], a: 1, fromCache: false }),
  );
  expect(contentHash({ a: 1 })).not.toEqual(contentHash({ a: 2 }));
  expect(itemHash({ a: 1, b: 2 })).toEqual(itemHash({ b: 2, a: 1 }));
});
