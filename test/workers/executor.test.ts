import { expect } from 'vitest';
import { knowsEveryProduct } from '../support/answers.ts';
import { asins } from '../support/parameters.ts';
import { gate } from '../support/scripted-upstream.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

test('aborts all upstream requests of a call that fails', async ({ souk, upstream }) => {
  const never = gate();
  // With offers, products are requested in several parts: the first is refused, the others are never answered.
  upstream.on('product', async ({ params }) => {
    if (!params.asin?.startsWith('B000000000')) await never.reached;
    else await upstream.received(3);
    return { status: 400, json: { error: { type: 'invalidParameter' } } };
  });
  const client = await souk.client();
  const reply = await client.post('/api/market/product', { domain: 1, asins: asins(60), offers: 20 });
  expect(reply.json.code).toBe('UPSTREAM_ERROR');
  await upstream.abandoned(2);
  expect(await unitsUsed(client)).toBe(0);
  never.open();
});

test('lets followers take over the fetch of a call that failed', async ({ souk, upstream }) => {
  const { reached: failed, open: fail } = gate();
  const never = gate();
  upstream.on('product', async (call, response) => {
    const { params } = call;
    if (params.asin === 'B0FAILS001') {
      await failed;
      return { status: 400, json: { error: { type: 'invalidParameter' } } };
    }
    if (upstream.calls.length === 2) await never.reached;
    return knowsEveryProduct(call, response);
  });
  const [one, two, three] = await Promise.all([0, 1, 2].map(() => souk.client()));
  const first = one?.get('/api/market/product?domain=2&asins=B0FAILS001');
  await upstream.received(1, 'product');
  const second = two?.get('/api/market/product?domain=2&asins=B0FAILS001,B0OTHER001');
  await upstream.received(2, 'product');
  const followed = souk.events.next('source.followed');
  const third = three?.get('/api/market/product?domain=2&asins=B0OTHER001');
  await followed;
  fail();
  expect([(await first)?.status, (await second)?.status]).toEqual([502, 502]);
  expect((await third)?.json.data.products[0].asin).toBe('B0OTHER001');
  never.open();
});
