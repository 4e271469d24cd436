import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideTopUp, type MonthSpent } from '../../../src/billing/payments/top-ups.ts';

const NOW = Date.UTC(2026, 2, 4);
const NONE: MonthSpent = { month: '', spentCents: 0, purchases: 0 };
const RULE = { thresholdUnits: 1_000, ceilingCents: 3_000 };

test.each([
  ['units below the threshold', {}, NONE, { month: '2026-03', spentCents: 1_500, purchases: 1 }],
  ['as many units as the threshold', { unitsLeft: 1_000 }, NONE, null],
  ['unlimited units', { unitsLeft: null }, NONE, null],
  [
    'a price that reaches the ceiling',
    {},
    spent('2026-03', 1_500),
    { ...spent('2026-03', 3_000), purchases: 2 },
  ],
  ['a price that exceeds the ceiling', {}, spent('2026-03', 1_501), null],
  ['a ceiling that was reached last month', {}, spent('2026-02', 3_000), spent('2026-03', 1_500)],
  ['a free pack', { priceCents: 0 }, NONE, null],
] as const)('for an account with %s it decides as expected', (_, more, before, expected) => {
  expect(decideTopUp(RULE, before, { unitsLeft: 999, priceCents: 1_500, now: NOW, ...more })).toEqual(
    expected,
  );
});

function spent(month: string, spentCents: number): MonthSpent {
  return { month, spentCents, purchases: 1 };
}

test('a month never costs more than the ceiling of the time', () => {
  const look = fc.record({
    hours: fc.nat(400),
    unitsLeft: fc.nat(2_000),
    priceCents: fc.integer({ min: 1, max: 2_000 }),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.array(look, { maxLength: 50 }),
      (ceilingCents, looks) => {
        let [now, present] = [NOW, NONE];
        const months = new Map<string, number>();
        for (const { hours, unitsLeft, priceCents } of looks) {
          now += hours * 3_600_000;
          const next = decideTopUp({ thresholdUnits: 1_000, ceilingCents }, present, {
            unitsLeft,
            priceCents,
            now,
          });
          if (!next) continue;
          months.set(next.month, (months.get(next.month) ?? 0) + priceCents);
          present = next;
        }
        for (const cents of months.values()) expect(cents).toBeLessThanOrEqual(ceilingCents);
      },
    ),
  );
});
