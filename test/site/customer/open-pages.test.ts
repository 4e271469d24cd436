import { expect } from 'vitest';
import { holdProducts, newAsin } from '../../support/answers.ts';
import { PAGES, signedIn } from '../../support/customer.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { pages: PAGES, limits: { pages: 1, downloads: 0 } });

test('a second page of an account is refused until the first is answered, and pages of others are not', async ({
  souk,
  upstream,
}) => {
  const [customer, other] = [await signedIn(souk), await signedIn(souk)];
  const release = holdProducts(upstream);
  await customer.visitor.get('/account/try');
  const fields = { operation: 'market.product', 'p.domain': '1', 'p.asins': newAsin(), intent: 'call' };
  const first = customer.visitor.post('/account/try', fields);
  await upstream.received(1, 'product');
  expect((await customer.visitor.get('/account/keys')).status).toBe(429);
  expect((await other.visitor.get('/account/keys')).status).toBe(200);
  release();
  expect((await first).status).toBe(200);
  expect((await customer.visitor.get('/account/keys')).status).toBe(200);
});

test('the ledger as CSV counts as a download, and its page does not', async ({ souk }) => {
  const { visitor } = await signedIn(souk);
  expect((await visitor.get('/account/ledger.csv')).status).toBe(429);
  expect((await visitor.get('/account/ledger')).status).toBe(200);
});
