import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFeedingOrder } from '../../src/batches/feeding-order.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { openWorkMeter } from '../support/work.ts';

interface Batch {
  accountId: number;
  id: number;
}

const batchesOf = (accountIds: readonly number[]): Batch[] =>
  accountIds.map((accountId, id) => ({ accountId, id }));

const accounts = fc.array(fc.nat(5), { minLength: 1, maxLength: 40 });
const underWay = fc.array(fc.nat(8), { minLength: 6, maxLength: 6 });

test('takes the batches of an account in the order of the list, and puts a batch last after it was fed', () => {
  const [first, second] = batchesOf([1, 1]) as [Batch, Batch];
  const order = createFeedingOrder([first, second], new Map());
  expect(order.next()).toBe(first);
  order.putBack(first, 1);
  expect(order.next()).toBe(second);
  order.putBack(second, 1);
  expect(order.next()).toBe(first);
});

test('takes a batch of the account with the fewest calls under way each time', () => {
  fc.assert(
    fc.property(
      accounts,
      underWay,
      fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 100 }),
      (ids, fed, sizes) => {
        const calls = new Map(fed.entries());
        const order = createFeedingOrder(batchesOf(ids), calls);
        for (const size of sizes) {
          const batch = order.next();
          if (!batch) throw new Error('no batch is left');
          const ofBatch = calls.get(batch.accountId) ?? 0;
          expect(ofBatch).toBe(Math.min(...ids.map((id) => calls.get(id) ?? 0)));
          calls.set(batch.accountId, ofBatch + size);
          order.putBack(batch, size);
        }
      },
    ),
  );
});

test('takes every batch exactly once if no batch is put back, and no batch of an account that is dropped', () => {
  fc.assert(
    fc.property(accounts, underWay, fc.nat(5), (ids, fed, dropped) => {
      const batches = batchesOf(ids);
      const order = createFeedingOrder(batches, new Map(fed.entries()));
      const ofDropped = order.dropAccount(dropped);
      const taken: Batch[] = [];
      for (let batch = order.next(); batch; batch = order.next()) taken.push(batch);
      const inOrder = (some: Batch[]) => some.toSorted((a, b) => a.id - b.id);
      expect(ofDropped).toEqual(batches.filter(({ accountId }) => accountId === dropped));
      expect(inOrder(taken)).toEqual(batches.filter(({ accountId }) => accountId !== dropped));
    }),
  );
});

test.for([
  { shape: 'of an account each', accountOf: (i: number) => i },
  { shape: 'of one account', accountOf: () => 1 },
  { shape: 'of a few accounts', accountOf: (i: number) => i % 7 },
])('taking three turns of each of many batches $shape takes linear work', async ({ accountOf }) => {
  const meter = await openWorkMeter();
  try {
    await expectLinearWork(meter, (size) => {
      const batches = batchesOf(Array.from({ length: 500 * size }, (_, i) => accountOf(i)));
      return () => {
        const order = createFeedingOrder(batches, new Map());
        for (let turn = 0; turn < 3 * batches.length; turn += 1) {
          const batch = order.next();
          if (batch) order.putBack(batch, 4);
        }
        while (order.next());
      };
    });
  } finally {
    await meter.close();
  }
});
