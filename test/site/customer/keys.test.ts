import { expect } from 'vitest';
import { expectPage, signedIn } from '../../support/customer.ts';
import { test } from '../../support/shared-souk-test.ts';

const KEY = /km_[A-Za-z0-9]{32}/;

test('a customer creates a key with limits, changes them, and sees what the key has used', async ({
  souk,
}) => {
  const { visitor } = await signedIn(souk);
  await visitor.get('/account/keys/new');
  const made = await visitor.post('/account/keys/new', {
    name: 'Dashboard',
    scope_read: '1',
    scope_products: '1',
    capDay: '500',
    networks: '203.0.113.0/24\n127.0.0.1',
  });
  const key = KEY.exec(made.text)?.[0] ?? '';
  expect(made.text).toContain('It is shown only once.');
  const client = souk.clientOf(key);
  expect((await client.get('/api/market/product?domain=1&asins=B000000001')).status).toBe(200);
  expect((await client.get('/api/batches')).status).toBe(200);

  const list = await visitor.get('/account/keys');
  expect(list.text).toContain('Dashboard');
  expect(list.text).toContain('read, products');
  expect(list.html).not.toContain(key);
  const path = /href="(\/account\/keys\/\d+)"/.exec(list.html)?.[1] ?? '';
  const shown = await visitor.get(path);
  expect(shown.text).toContain('Units today 1 of 500');
  const wrong = await visitor.post(path, { name: 'Dashboard', scope_keys: '1', capDay: '5' });
  expectPage(wrong, 400, 'must not have keys with a cap');
  const changed = await visitor.post(path, { name: 'Prices', scope_deals: '1', capMonth: '10' });
  expect(changed.text).toContain('The key has been changed.');
  expect(changed.text).toContain('Units this month 1 of 10');
  expect((await client.get('/api/batches')).json.code).toBe('KEY_SCOPE_MISSING');
});

test('the page of a key of another account does not exist', async ({ souk }) => {
  const { visitor } = await signedIn(souk);
  const other = await signedIn(souk);
  const path =
    /href="(\/account\/keys\/\d+)"/.exec((await other.visitor.get('/account/keys')).html)?.[1] ?? '';
  await visitor.get('/account/keys');
  expect((await visitor.get(path)).status).toBe(404);
  expect((await visitor.post(path, { name: 'x' })).status).toBe(404);
});
