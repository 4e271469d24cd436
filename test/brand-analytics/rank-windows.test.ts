import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rangeAfter } from '../../src/brand-analytics/row-tags.ts';

test('successive ranges advance to the last rank, and the third range has no tags', () => {
  const rank = fc.oneof(fc.integer({ min: 1, max: 5_000_000 }), fc.integer({ min: 1, max: 2_000_000_000 }));
  fc.assert(
    fc.property(rank, rank, (a, b) => {
      const [after, end] = [Math.min(a, b) - 1, Math.max(a, b)];
      let at = after;
      for (let looks = 0; at < end; looks += 1) {
        const { to, tags } = rangeAfter(at, end, looks);
        expect(to).toBeGreaterThan(at);
        expect(to).toBeLessThanOrEqual(end);
        expect(tags.length > 0).toBe(looks < 2);
        at = to;
      }
    }),
  );
});

test.each([
  [0, 1_000_000, 0, { to: 32_768, tags: [100, 101] }],
  [16_383, 1_000_000, 0, { to: 32_768, tags: [100, 101] }],
  [16_384, 1_000_000, 0, { to: 49_152, tags: [101, 102] }],
  [16_384, 20_000, 0, { to: 20_000, tags: [101, 102] }],
  [262_144, 3_000_000, 1, { to: 491_520, tags: Array.from({ length: 14 }, (_, i) => 116 + i) }],
  [491_520, 3_000_000, 2, { to: 3_000_000, tags: [] }],
  [1_999_999_998, 2_000_000_000, 0, { to: 2_000_000_000, tags: [599] }],
])('the range after rank %i of %i, as number %i of a search, is %j', (after, end, looks, look) => {
  expect(rangeAfter(after, end, looks)).toEqual(look);
});
