import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Demo, openDemo } from '../support/demo-provider.ts';

let demo: Demo;
beforeAll(async () => {
  demo = await openDemo();
});
afterAll(() => demo.close());

const ASIN = 'B0AA11BB22';

async function draw(params: Record<string, string | number> = {}): Promise<Buffer> {
  const { status, headers, bytes } = await demo.get('graphimage', { domain: 1, asin: ASIN, ...params });
  expect([status, headers['content-type']]).toEqual([200, 'image/png']);
  return bytes;
}

test.each([
  [{}, 500, 200],
  [{ width: 300, height: 150 }, 300, 150],
  [{ width: 1000, height: 1000 }, 1000, 1000],
])('%j is a PNG of %i by %i pixels', async (params, width, height) => {
  expect(await sharp(await draw(params)).metadata()).toMatchObject({ format: 'png', width, height });
});

test('the same picture every time', async () => {
  expect((await draw()).equals(await draw())).toBe(true);
});

test.each<Record<string, string | number>>([
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
])('%j changes the picture', async (params) => {
  expect((await draw(params)).equals(await draw())).toBe(false);
});

test('the background has the colour asked for', async () => {
  const { data } = await sharp(await draw({ cBackground: '102030' }))
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect([...data.subarray(0, 3)]).toEqual([0x10, 0x20, 0x30]);
});

test.each([
  ['only the sales rank', { amazon: 0, new: 0, salesrank: 1 }],
  ['no curve at all', { amazon: 0, new: 0 }],
])('%s can be drawn', async (_, params) => {
  expect(await sharp(await draw(params)).metadata()).toMatchObject({ width: 500 });
});
