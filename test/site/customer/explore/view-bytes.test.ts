import { expect, vi } from 'vitest';
import { newAsin } from '../../../support/answers.ts';
import { PAGES, signedIn } from '../../../support/customer.ts';
import { test } from '../../../support/souk-test.ts';

test.override('soukOptions', { pages: PAGES });

test('shows an account at most 32 MiB of answers a minute, others theirs', async ({ souk, upstream }) => {
  const largeAsin = newAsin();
  upstream.on('product', ({ params }) => {
    const asin = params.asin ?? '';
    const description = 'x'.repeat(asin === largeAsin ? 3_500_000 : 10);
    return {
      json: { products: [{ asin, domainId: 1, productType: 0, title: 'Thing', csv: [], description }] },
    };
  });
  const shown = async (asin: string) => {
    const { visitor } = await signedIn(souk);
    const form = { domain: '1', asin };
    const first = await visitor.post('/explore/product', { ...form, view: 'product' });
    const { searchParams } = new URL(first.path, 'http://souk');
    const { path } = await visitor.post('/explore/product', {
      ...Object.fromEntries(searchParams),
      view: 'history',
    });
    const see = () => visitor.get(path);
    await vi.waitFor(async () => expect((await see()).html).not.toContain('aria-busy="true"'), 60_000);
    return see;
  };
  const [seeLarge, seeSmall] = [await shown(largeAsin), await shown(newAsin())];
  const statuses: number[] = [];
  // 21 of them are more than the answers of two minutes, because a second minute may begin on a slow machine.
  for (let n = 0; n < 21; n += 1) statuses.push((await seeLarge()).status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect((await seeSmall()).status).toBe(200);
});
