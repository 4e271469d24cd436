import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ConditionState, type Crossing, decide } from '../../../src/batches/trackers/check.ts';
import type { Condition } from '../../../src/batches/trackers/condition.ts';
import { readingOf } from '../../../src/batches/trackers/reading.ts';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { statsOf, type TrackedProduct } from '../../support/trackers.ts';

const answerOf = (product: TrackedProduct) => ({ products: [{ asin: 'B0', stats: statsOf(product) }] });

/** Checks once an hour. @returns the crossings by the number of the check. */
function checks(
  condition: Condition,
  found: readonly Record<string, unknown>[],
  { alertAtStart = false, quietHours = 0, hysteresisPercent = 2 } = {},
): [check: number, before: Crossing['before'], after: Crossing['after']][] {
  let state: ConditionState | null = null;
  return found.flatMap((data, check) => {
    const reading = readingOf(condition, data, hysteresisPercent);
    const rules = { alertAtStart, quietMs: quietHours * HOUR_MS };
    const decision = decide(state, reading, rules, check * HOUR_MS);
    state = decision.state;
    const { crossing } = decision;
    return crossing ? [[check, crossing.before, crossing.after] as const].map(([...one]) => one) : [];
  });
}

const below: Condition = { type: 'price_below', price: 'new', value: 2000 };
const prices = (...values: (number | undefined)[]) =>
  values.map((value) => answerOf(value === undefined ? {} : { new: value }));

test.for<[what: string, condition: Condition, found: Record<string, unknown>[], alerts: unknown[]]>([
  ['the price falls below the bound', below, prices(2500, 1999, 1500), [[1, 2500, 1999]]],
  ['the price equals the bound', below, prices(2500, 2000), []],
  ['the price is below the bound at the first check', below, prices(1500, 1400), []],
  [
    'the price rises clearly and falls again',
    below,
    prices(2500, 1900, 2040, 1900),
    [
      [1, 2500, 1900],
      [3, 2040, 1900],
    ],
  ],
  [
    'the price rises within the hysteresis and falls again',
    below,
    prices(2500, 1900, 2039, 1900),
    [[1, 2500, 1900]],
  ],
  ['a low price is missing for a while', below, prices(2500, 1900, undefined, 1900), [[1, 2500, 1900]]],
  ['a high price is missing before a low one', below, prices(2500, undefined, 1900), [[2, 2500, 1900]]],
  [
    'the product has no statistics before a low price',
    below,
    [answerOf({ new: 2500 }), { products: [] }, answerOf({ new: 1 })],
    [[2, 2500, 1]],
  ],
  [
    'the price drops by a percentage below the average',
    { type: 'price_drop', price: 'new', value: 20, days: 90 },
    [
      { new: 900, average90: 1000 },
      { new: 801, average90: 1000 },
      { new: 799, average90: 1000 },
    ].map(answerOf),
    [[2, 801, 799]],
  ],
  [
    'the average is missing',
    { type: 'price_drop', price: 'new', value: 20, days: 30 },
    [{ new: 900, average90: 1000 }, { new: 1 }].map(answerOf),
    [],
  ],
  [
    'the sales rank improves beyond the bound',
    { type: 'sales_rank_below', value: 100 },
    [{ rank: 101 }, { rank: 99 }].map(answerOf),
    [[1, 101, 99]],
  ],
  [
    'the sales rank worsens beyond the bound',
    { type: 'sales_rank_above', value: 100 },
    [{ rank: 100 }, { rank: 101 }, { rank: 98 }, { rank: 101 }].map(answerOf),
    [
      [1, 100, 101],
      [3, 98, 101],
    ],
  ],
  [
    'the rating falls',
    { type: 'rating_below', value: 40 },
    [{ rating: 41 }, { rating: 39 }].map(answerOf),
    [[1, 41, 39]],
  ],
  [
    'the owner of the Buy Box changes, is unknown, and changes back',
    { type: 'buy_box_owner' },
    [{ owner: 'A' }, { owner: 'A' }, { owner: 'B' }, {}, { owner: '-1' }, { owner: 'B' }, { owner: 'A' }].map(
      answerOf,
    ),
    [
      [2, 'A', 'B'],
      [6, 'B', 'A'],
    ],
  ],
  [
    'a product is in stock again',
    { type: 'back_in_stock', price: 'amazon' },
    [{ amazon: 5 }, { amazon: -1 }, { amazon: 6 }, { amazon: 7 }].map(answerOf),
    [[2, null, 6]],
  ],
  [
    'a product without statistics is known again',
    { type: 'back_in_stock', price: 'amazon' },
    [answerOf({ amazon: 5 }), { products: [] }, answerOf({ amazon: 6 })],
    [],
  ],
  [
    'a keyword enters the first ranks, leaves the list and returns',
    { type: 'keyword_rank_below', value: 10 },
    [{ current: { rank: 12 } }, { current: { rank: 3 } }, { current: null }, { current: { rank: 4 } }],
    [[1, 12, 3]],
  ],
  [
    'a keyword falls in the list',
    { type: 'keyword_rank_above', value: 10 },
    [{ current: { rank: 9 } }, { current: { rank: 11 } }],
    [[1, 9, 11]],
  ],
])('%s', ([_what, condition, found, alerts]) => {
  expect(checks(condition, found)).toEqual(alerts);
});

test('alerts at the first check with alertAtStart, with no value before', () => {
  expect(checks(below, prices(1900, 1800), { alertAtStart: true })).toEqual([[0, null, 1900]]);
  expect(checks({ type: 'buy_box_owner' }, [answerOf({ owner: 'A' })], { alertAtStart: true })).toEqual([]);
});

test('makes at most one alert in the quiet time, and none later for a crossing within it', () => {
  const found = prices(2500, 1900, 2500, 1900, 1900, 1900, 2500, 1900);
  expect(checks(below, found, { quietHours: 4 }).map(([check]) => check)).toEqual([1, 7]);
  expect(checks(below, found, { quietHours: 2 }).map(([check]) => check)).toEqual([1, 3, 7]);
});

test('alerts only after a clear change, outside the quiet time, and never because of missing data', () => {
  const price = fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined });
  const rules = fc.record({
    alertAtStart: fc.boolean(),
    quietHours: fc.nat(5),
    hysteresisPercent: fc.integer({ min: 0, max: 50 }),
  });
  const condition: Condition = { type: 'price_below', price: 'new', value: 20 };
  fc.assert(
    fc.property(fc.array(price, { maxLength: 40 }), rules, (values, settings) => {
      const alerts = checks(condition, prices(...values), settings).map(([check]) => check);
      const clear = 20 * (1 + settings.hysteresisPercent / 100);
      const first = values.findIndex((value) => value !== undefined);
      for (const [i, check] of alerts.entries()) {
        const previous = alerts[i - 1];
        expect(values[check]).toBeLessThan(20);
        const since = values.slice(previous === undefined ? 0 : previous + 1, check);
        const wasClear = since.some((value) => value !== undefined && value >= clear);
        // Before the first alert the condition only has to be false.
        const wasFalse = since.some((value) => value !== undefined && value >= 20);
        expect(
          wasClear || (previous === undefined && (wasFalse || (settings.alertAtStart && check === first))),
        ).toBe(true);
        if (previous !== undefined) expect(check - previous).toBeGreaterThanOrEqual(settings.quietHours);
      }
      const known = values.filter((value) => value !== undefined);
      const knownAlerts = checks(condition, prices(...known), { ...settings, quietHours: 0 }).length;
      expect(checks(condition, prices(...values), { ...settings, quietHours: 0 })).toHaveLength(knownAlerts);
    }),
  );
});
