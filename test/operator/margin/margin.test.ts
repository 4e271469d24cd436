import { expect, test } from 'vitest';
import { marginOf, type Revenue } from '../../../src/operator/margin/margin.ts';

const REVENUE: Revenue = {
  earned: new Map(),
  earnedBefore: 0n,
  paidCents: 0,
  refundedCents: 0,
  heldBeforeCents: 0,
};

const CELL = { accountId: 7, operation: 'market.product' };

test.each([
  ['in proportion to their units', { a: 60, b: 40 }, { a: 60, b: 40 }],
  ['none to those with more refunds than use', { a: 100, b: -95 }, { a: 100, b: 0 }],
  ['to none of them if refunds exceed the use of each', { a: -1, b: -2 }, { a: 0, b: 0, none: 100 }],
])('tokens of an account and operation go to groups %s', (_, units, expected) => {
  const sold = Object.entries(units).map(([part, count]) => ({ ...CELL, part, units: count }));
  const used = [{ ...CELL, part: null, spent: 100_000, cached: 0, merged: 0, joined: 0 }];
  const { rows, totals } = marginOf(sold, REVENUE, used, 0.01);
  expect(Object.fromEntries(rows.map(({ group, tokens }) => [group, tokens]))).toEqual(expected);
  expect([totals.tokens, totals.costCents]).toEqual([100, 100]);
});
