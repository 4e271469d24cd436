import fc from 'fast-check';
import { expect } from 'vitest';
import type { Demo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

async function products(demo: Demo, asins: readonly string[], params: Record<string, string | number> = {}) {
  return (await demo.get('product', { domain: 1, asin: asins.join(), history: 0, ...params })).json.products;
}

type Variation = { asin: string; image: string; attributes: { dimension: string; value: string }[] };

const namedAsin = fc
  .string({
    unit: fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')),
    minLength: 8,
    maxLength: 8,
  })
  .map((rest) => `B0${rest}`);

test('names the same parent and members for every member of a family', async ({ demo }) => {
  const sizes = new Set<number>();
  await fc.assert(
    fc.asyncProperty(namedAsin, async (asin) => {
      const [found] = await products(demo, [asin]);
      sizes.add(found.variations?.length ?? 1);
      if (found.parentAsin === null) {
        expect(found.variations).toBeNull();
        return;
      }
      const members: string[] = found.variations.map((variation: Variation) => variation.asin);
      expect(members).toContain(asin);
      expect(new Set(members).size).toBe(members.length);
      const some = [members[0] ?? '', members.at(-1) ?? '', found.parentAsin];
      const [first, last, parent] = await products(demo, [...new Set(some)].slice(0, 3));
      for (const member of [first, last]) {
        expect(member).toMatchObject({
          parentAsin: found.parentAsin,
          brand: found.brand,
          rootCategory: found.rootCategory,
        });
        expect(member.variations).toEqual(found.variations);
      }
      expect(parent).toMatchObject({ asin: found.parentAsin, productType: 5, parentAsin: null });
      expect(parent.variations).toEqual(found.variations);
    }),
    { numRuns: 40 },
  );
  expect(sizes.size).toBeGreaterThan(2);
});

test('a variation differs from the others, with look, size and picture of its product', async ({ demo }) => {
  const { variations } = await anyFamily(demo);
  expect(new Set(variations.map(({ attributes }) => JSON.stringify(attributes))).size).toBe(
    variations.length,
  );
  const members = await products(
    demo,
    variations.map(({ asin }) => asin),
  );
  for (const [i, member] of members.entries()) {
    const { asin, image, attributes } = variations[i] ?? {};
    expect([asin, image]).toEqual([member.asin, member.images[0].l]);
    for (const { dimension, value } of attributes ?? []) {
      expect(member[dimension.toLowerCase()]).toBe(value);
      expect(member.title).toContain(value);
    }
  }
});

test('families have 2 to 12 members, and one has 1,000', async ({ demo }) => {
  const asins = Array.from({ length: 100 }, (_, i) => `B0AB${String(i).padStart(2, '0')}CD05`);
  const sizes = (await products(demo, asins)).map(
    ({ variations }: { variations: Variation[] | null }) => variations?.length ?? 1,
  );
  expect(Math.max(...sizes)).toBeLessThanOrEqual(12);
  expect(new Set(sizes).size).toBeGreaterThan(4);
  expect((await products(demo, ['B0ZZZZZZ00']))[0].variations).toHaveLength(1000);
});

test('a parent has a rank and its variations, but neither prices nor offers', async ({ demo }) => {
  const { parentAsin } = await anyFamily(demo);
  const [parent] = await products(demo, [parentAsin], { history: 1, offers: 20, stats: 30 });
  expect(parent.productType).toBe(5);
  expect(parent.csv.flatMap((csv: unknown, index: number) => (csv ? [index] : []))).toEqual([3]);
  expect(parent).not.toHaveProperty('offers');
  expect(parent.stats.current[1]).toBe(-1);
});

async function anyFamily(demo: Demo): Promise<{ parentAsin: string; variations: Variation[] }> {
  const asins = Array.from({ length: 60 }, (_, i) => `B0AA${String(i).padStart(2, '0')}CC05`);
  const found = await products(demo, asins);
  return found.find(({ parentAsin }: { parentAsin: string | null }) => parentAsin !== null);
}
