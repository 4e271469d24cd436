import { expect, test } from 'vitest';
import { bundleItems } from '../../../src/batches/bundle.ts';
import type { Condition } from '../../../src/batches/trackers/condition.ts';
import { isAnswered, itemName, itemsAgain, itemsOf } from '../../../src/batches/trackers/items.ts';
import { upstreamOptions } from '../../../src/operations/market/product.ts';

const database = { query: () => Promise.reject(new Error('products need no database')) } as never;
const products = { kind: 'products', domain: 3, asins: ['B0AAAAAAA1', 'B0AAAAAAA2'] } as const;

test.for<[Condition, { rating: boolean; buybox: boolean }]>([
  [
    { type: 'price_below', price: 'new', value: 1 },
    { rating: false, buybox: false },
  ],
  [
    { type: 'rating_below', value: 40 },
    { rating: true, buybox: false },
  ],
  [{ type: 'buy_box_owner' }, { rating: false, buybox: true }],
  [
    { type: 'back_in_stock', price: 'buyBox' },
    { rating: false, buybox: true },
  ],
])('a tracker with condition %j asks upstream for its needs, in one call', async ([condition, wanted]) => {
  const { operation, raws } = await itemsOf(database, products, [condition]);
  const items = raws.map((raw) => ({ raw, input: operation.params.parse(raw) }));
  const calls = [...bundleItems(operation, items)];
  expect(calls.map(({ units }) => units)).toEqual([2]);
  const options = upstreamOptions(calls[0]?.input as never);
  expect(options).toMatchObject({ domain: 3, history: false, stats: 90, offers: 0, ...wanted });
});

test('a check that began with other options says nothing about a new condition', async () => {
  const owner: Condition = { type: 'buy_box_owner' };
  const before = await itemsOf(database, products, [{ type: 'price_below', price: 'new', value: 1 }]);
  const after = itemsAgain(before, [owner]);
  expect(after.raws.map(itemName)).toEqual(products.asins);
  expect(isAnswered(before.raws[0], 3, owner)).toBe(false);
  expect(isAnswered(after.raws[0], 3, owner)).toBe(true);
  expect(isAnswered(after.raws[0], 1, owner)).toBe(false);
});
