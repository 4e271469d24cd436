import fc from 'fast-check';
import { expect, test } from 'vitest';
import { carriedUnits } from '../../../src/billing/payments/renewals.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';

const MONTH_MS = 30 * DAY_MS;

test.each([
  ['nothing of a month that was not used', 0, 0, 0],
  ['all units that were used in its first moment', 1_000, 0, 1_000],
  ['the units used beyond the share of the time that has passed', 1_000, 15, 500],
  ['nothing if no more was used than the share of the time that has passed', 500, 15, 0],
  ['nothing of a month that is over', 1_000, 30, 0],
  ['nothing of a month that was extended until its payment', 1_000, 33, 0],
])('an upgrade carries over %s', (_, used, days, carried) => {
  const month = { from: 0, to: MONTH_MS, total: 1_000, used };
  expect(carriedUnits(month, days * DAY_MS)).toBe(carried);
});

test('an upgrade carries over nothing of a plan without a limit', () => {
  expect(carriedUnits({ from: 0, to: MONTH_MS, total: null, used: 1_000 }, 0)).toBe(0);
});

test('no sequence of upgrades gives more units than those of the paid time of each plan and of the last month', () => {
  const month = fc.record({
    total: fc.integer({ min: 1, max: 1_000_000 }),
    usedShare: fc.double({ min: 0, max: 1, noNaN: true }),
    lastsMs: fc.integer({ min: 0, max: MONTH_MS }),
  });
  fc.assert(
    fc.property(fc.array(month, { minLength: 1, maxLength: 8 }), (months) => {
      // A dearer plan has at least as many units.
      const totals = months.map(({ total }) => total).sort((a, b) => a - b);
      let [from, meter, units, paid] = [0, 0, 0, 0];
      for (const [i, { usedShare, lastsMs }] of months.entries()) {
        const total = totals[i] ?? 0;
        const used = Math.floor(Math.max(0, total - meter) * usedShare);
        [units, meter] = [units + used, meter + used];
        const isLast = i === months.length - 1;
        paid += isLast ? total : Math.floor(total * (lastsMs / MONTH_MS));
        meter = carriedUnits({ from, to: from + MONTH_MS, total, used: meter }, from + lastsMs);
        from += lastsMs;
      }
      expect(units).toBeLessThanOrEqual(paid);
    }),
  );
});
