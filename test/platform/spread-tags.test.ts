import slotOf from 'cluster-key-slot';
import { expect, test } from 'vitest';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { spreadTag } from '../../src/platform/spread-tags.ts';

const NAMESPACES = ['souk', 'test-0a1b2c3d4e5f', 'x'];
const POOLS = ['market', 'lightning', 'storefront', 'graph', 'keywords', 'trends', 'test'];
const BASES = NAMESPACES.flatMap((namespace) => POOLS.map((pool) => `${namespace}-${pool}`));

/** Returns how many of the first tags each master of a cluster has, if all have the same number of slots. */
function shares(base: string, tags: number, masters: number): number[] {
  const counts = new Array<number>(masters).fill(0);
  for (let index = 0; index < tags; index += 1) {
    const slot = slotOf(`{${spreadTag(base, index)}}:wait`);
    const master = Math.floor((slot * masters) / 16_384);
    counts[master] = (counts[master] ?? 0) + 1;
  }
  return counts;
}

test('the first tag is the base, so that one queue has the name that it always had', () => {
  expect(spreadTag('souk-market', 0)).toBe('souk-market');
  expect(redisKeys('souk').queuePrefix('market')).toBe('{souk-market}');
});

test('tags are different, and the same in every process', () => {
  const tags = Array.from({ length: 32 }, (_, index) => spreadTag('souk-market', index));
  expect(new Set(tags).size).toBe(32);
  // Jobs would be lost if a later version had other tags.
  expect(tags.slice(0, 4)).toMatchInlineSnapshot(`
    [
      "souk-market",
      "souk-market-1.16",
      "souk-market-2.12",
      "souk-market-3.165",
    ]
  `);
});

test.each([
  [3, 3],
  [9, 3],
  [9, 9],
])('%i tags are spread evenly over %i masters', (tags, masters) => {
  const even = new Array<number>(masters).fill(tags / masters);
  // A slot near the border of two masters may be on the other side.
  const uneven = BASES.filter((base) => shares(base, tags, masters).join() !== even.join());
  expect(uneven.length / BASES.length).toBeLessThan(0.25);
  for (const base of uneven)
    expect(Math.max(...shares(base, tags, masters))).toBeLessThanOrEqual(tags / masters + 1);
});
