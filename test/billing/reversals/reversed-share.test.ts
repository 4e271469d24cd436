import fc from 'fast-check';
import { expect, test } from 'vitest';
import { reversedShare, unitsToRevoke } from '../../../src/billing/payments/reversals.ts';

test.each([
  ['without refund or dispute', 0, [], 0],
  ['with a refund of a half', 500, [], 0.5],
  ['that was refunded as a whole', 1_000, [], 1],
  ['with an open dispute', 0, ['needs_response'], 1],
  ['with a lost dispute', 0, ['lost'], 1],
  ['with a won dispute and a refund of a quarter', 250, ['won'], 0.25],
  ['with an inquiry of the bank', 0, ['warning_needs_response'], 0],
] as const)('a payment %s is reversed by its share', (_, amountRefunded, disputes, share) => {
  expect(reversedShare({ amount: 1_000, amountRefunded }, disputes)).toBe(share);
});

test('a free payment has nothing to reverse', () => {
  expect(reversedShare({ amount: 0, amountRefunded: 0 }, [])).toBe(0);
});

test('never takes back more units than are left, or fewer than zero', () => {
  const step = fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }), used: fc.nat(400) });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.array(step, { maxLength: 20 }), (total, steps) => {
      let [left, revoked] = [total, 0];
      for (const { share, used } of steps) {
        left -= Math.min(left, used);
        const units = unitsToRevoke({ total, left, revoked }, share);
        [left, revoked] = [left - units, revoked + units];
        expect(left).toBeGreaterThanOrEqual(0);
        expect(revoked).toBeGreaterThanOrEqual(0);
        expect(revoked).toBeLessThanOrEqual(Math.floor(total * share));
        // The same report again changes nothing.
        expect(unitsToRevoke({ total, left, revoked }, share)).toBe(0);
      }
    }),
  );
});
