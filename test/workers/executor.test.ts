import { expect } from 'vitest';
import { knowsEveryProduct } from '../support/answers.ts';
import { gate } from '../support/scripted-upstream.ts';
import { test } from '../support/souk-test.ts';

test('a call with an ASIN that failed for another call returns its other ASINs, to its followers too', async ({
  souk,
  upstream,
}) => {
  const { reached: failed, open: fail } = gate();
  const other = gate();
  upstream.on('product', async (call, response) => {
    const { params } = call;
    if (params.asin === 'B0FAILS001') {
      await failed;
      return { status: 400, json: { error: { type: 'invalidParameter' } } };
    }
    if (upstream.calls.length === 2) await other.reached;
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
  expect((await first)?.status).toBe(502);
  other.open();
  expect((await second)?.json).toMatchObject({
    data: { products: [{ asin: 'B0OTHER001' }], errors: [{ asin: 'B0FAILS001', errorId: 'UPSTREAM_ERROR' }] },
  });
  expect((await third)?.json.data.products[0].asin).toBe('B0OTHER001');
});
