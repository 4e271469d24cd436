import sharp from 'sharp';
import { expect } from 'vitest';
import type { Demo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

/** A product with all kinds of offers. */
const ASIN = 'B08N5WRWNX';

async function draw(demo: Demo, params: Record<string, string | number> = {}): Promise<Buffer> {
  const { status, headers, bytes } = await demo.get('graphimage', { domain: 1, asin: ASIN, ...params });
  expect([status, headers['content-type']]).toEqual([200, 'image/png']);
  return bytes;
}

test.for([
  [{}, 500, 200],
  [{ width: 300, height: 150 }, 300, 150],
  [{ width: 1000, height: 1000 }, 1000, 1000],
] as const)('%j is a PNG of %i by %i pixels', async ([params, width, height], { demo }) => {
  expect(await sharp(await draw(demo, params)).metadata()).toMatchObject({ format: 'png', width, height });
});

test('returns the same picture every time', async ({ demo }) => {
  expect((await draw(demo)).equals(await draw(demo))).toBe(true);
});

test.for<Record<string, string | number>>([
  { asin: 'B0CC11BB22' },
  { domain: 5 },
  { amazon: 0 },
  { new: 0 },
  { used: 1 },
  { salesrank: 1 },
  { bb: 1 },
  { fba: 1 },
  { fbm: 1 },
  { range: 365 },
  { yzoom: 0 },
  { title: 0 },
  { cBackground: '102030' },
  { cNew: '00ff00' },
])('the parameters %j change the picture', async (params, { demo }) => {
  expect((await draw(demo, params)).equals(await draw(demo))).toBe(false);
});

test('uses the requested background colour', async ({ demo }) => {
  const { data } = await sharp(await draw(demo, { cBackground: '102030' }))
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect([...data.subarray(0, 3)]).toEqual([0x10, 0x20, 0x30]);
});

test.for([
  ['only the sales rank', { amazon: 0, new: 0, salesrank: 1 }],
  ['no curve at all', { amazon: 0, new: 0 }],
] as const)('draws %s', async ([_, params], { demo }) => {
  expect(await sharp(await draw(demo, params)).metadata()).toMatchObject({ width: 500 });
});
