import { describe, expect, test } from 'vitest';
import {
  divide,
  type Earning,
  earningsOf,
  NANOS_A_CENT,
  type PaidGrant,
  toCents,
  type UnitMove,
} from '../../../src/operator/margin/earnings.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';

const MARCH = Date.parse('2026-03-01T00:00:00Z');

const day = (n: number) => MARCH + n * DAY_MS;

const pack: PaidGrant = {
  amountCents: 1_000,
  paidAt: day(0) + 1,
  reversals: [],
  windows: 1,
  units: 300,
  startsAt: day(0) + 1,
  endsAt: day(20),
};

const used = (step: number, units: number, part = 'a', window = 0): UnitMove => ({
  window,
  kind: 'used',
  step,
  part,
  units,
});

const cents = (earnings: readonly Earning[]) =>
  earnings.map(({ step, part, nanos }) => [step, part, Number(nanos) / Number(NANOS_A_CENT)]);

describe('a payment', () => {
  test('of a pack earns the share of its used units, and the rest when it expires', () => {
    const { earnings, before, after } = earningsOf(pack, [used(0, 30), used(1, 60)], [0, 1, 2, 30].map(day));
    expect(cents(earnings)).toEqual([
      [0, 'a', 100],
      [1, 'a', 200],
      [2, null, 700],
    ]);
    expect(before).toEqual({ paidCents: 0, refundedCents: 0, earned: 0n });
    expect(after).toEqual({ paidCents: 1_000, refundedCents: 0, earned: 1_000n * NANOS_A_CENT });
  });

  test('of several months earns a part of the price in each month, and the parts add up to the price', () => {
    const plan = { ...pack, amountCents: 1_000, windows: 3, units: 100, startsAt: day(0), endsAt: day(92) };
    const boundaries = [0, 31, 61, 92].map(day);
    const { earnings, after } = earningsOf(plan, [used(1, 50, 'a', 1)], boundaries);
    const sums = [0, 1, 2].map((step) =>
      earnings.reduce((sum, one) => (one.step === step ? sum + one.nanos : sum), 0n),
    );
    expect(sums).toEqual([3_333_333_333n, 3_333_333_333n, 3_333_333_334n]);
    expect(earnings.filter(({ part }) => part === 'a')).toEqual([
      { step: 1, part: 'a', nanos: 1_666_666_666n },
    ]);
    expect(after.earned).toBe(1_000n * NANOS_A_CENT);
  });

  test('of a plan without a limit earns evenly over time, for what used it', () => {
    const plan = { ...pack, amountCents: 3_100, units: null, startsAt: day(0), endsAt: day(31) };
    const { earnings } = earningsOf(plan, [used(0, 5, 'a'), used(0, 15, 'b')], [0, 4, 31].map(day));
    expect(cents(earnings)).toEqual([
      [0, 'a', 100],
      [0, 'b', 300],
      [1, null, 2_700],
    ]);
  });

  test('that is refunded takes back what it has earned, beyond the share that stays', () => {
    const refunded = { ...pack, reversals: [{ at: day(2), cents: 500 }] };
    const moves: UnitMove[] = [used(0, 30), { window: 0, kind: 'revoked', step: 1, part: '', units: 150 }];
    const { earnings, after } = earningsOf(refunded, moves, [0, 2, 3, 30].map(day));
    // 30 of 300 units of 10.00 are worth as much as 30 of 150 units of 5.00.
    expect(cents(earnings)).toEqual([
      [0, 'a', 100],
      [2, null, 400],
    ]);
    expect(after).toMatchObject({ paidCents: 1_000, refundedCents: 500 });
    const whole = earningsOf(
      { ...pack, reversals: [{ at: day(2), cents: 1_000 }] },
      moves,
      [0, 2, 30].map(day),
    );
    expect(cents(whole.earnings)).toEqual([
      [0, 'a', 100],
      [1, null, -100],
    ]);
  });

  test('whose call is refunded earns its units again only once', () => {
    const { earnings } = earningsOf(pack, [used(0, 30), used(1, -30)], [0, 1, 2].map(day));
    expect(cents(earnings)).toEqual([
      [0, 'a', 100],
      [1, 'a', -100],
    ]);
  });
});

test('divides an amount in proportion to units without losing any of it', () => {
  const shares = divide(100n, [
    { part: 'b', units: 1 },
    { part: 'a', units: 1 },
    { part: 'c', units: 1 },
  ]);
  expect([...shares]).toEqual([
    ['a', 33n],
    ['b', 33n],
    ['c', 34n],
  ]);
  expect(divide(5n, [{ part: 'a', units: 0 }]).size).toBe(0);
});

test('rounds amounts to cents that add up to the rounded sum, also below zero', () => {
  const third = NANOS_A_CENT / 3n;
  expect(toCents([third, third, third, third], 0n)).toEqual([0, 0, 0, 1]);
  expect(toCents([-third, -third, third], 0n)).toEqual([-1, 0, 0]);
});
