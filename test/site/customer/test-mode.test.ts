import { expect } from 'vitest';
import { testAccountOf } from '../../../src/accounts/authentication.ts';
import { PAGES, PASSWORD, signedIn, signUp } from '../../support/customer.ts';
import { test } from '../../support/souk-test.ts';
import { createVisitor } from '../../support/visitor.ts';

const TOKEN = 'operator-token-of-tests';

test.override('soukOptions', ({ demo }) => ({
  pages: PAGES,
  testUrl: demo.url,
  operator: { adminToken: TOKEN },
}));

test('a customer creates a test key, calls the demo provider with it, and returns to the live account', async ({
  souk,
}) => {
  const { visitor, accountId } = await signedIn(souk);
  const keys = await visitor.get('/account/keys');
  expect(keys.text).toContain('Your account has 1,000 test units a day.');
  expect(keys.text).not.toContain('Show test account');

  const created = await visitor.post('/account/test-key', {});
  const [key = ''] = /km_test_[A-Za-z0-9]{32}/.exec(created.html) ?? [];
  expect(created.text).toContain('Test mode Calls are free');
  const answer = await souk.clientOf(key).get('/api/market/product?country=us&asins=B08N5WRWNX');
  expect(answer.json).toMatchObject({ livemode: false, data: { products: [{ asin: 'B08N5WRWNX' }] } });

  const overview = (await visitor.get('/account')).text;
  expect(overview).toContain('Units today 1 of 1,000');
  expect(overview).not.toMatch(/valid until|Buy a pack|Choose a plan/);
  expect((await visitor.get('/account/usage')).text).toContain('market.product 1 1');
  expect((await visitor.get('/account/settings')).text).toContain(`Account number ${accountId}`);

  const live = await visitor.get(`/account/${accountId}`);
  expect(live.text).not.toContain('Test mode');
  expect((await visitor.get('/account/usage')).text).toContain('No calls in the last 30 days.');
  expect((await visitor.get('/account/keys')).text).toContain('Show test account');
});

test('pictures of test products are drawn by the service', async ({ souk }) => {
  const { visitor, client } = await signedIn(souk);
  await visitor.get('/account/keys');
  const [key = ''] = /km_test_\w{32}/.exec((await visitor.post('/account/test-key', {})).html) ?? [];
  const tester = souk.clientOf(key);
  const asins = 'B08N5WRWNX';
  const { json } = await tester.get(`/api/market/product?domain=1&asins=${asins}&detailLevel=summary`);
  const [{ image }] = json.data.products;
  const linked = (await tester.get(`/api/retail/imageurl?domain=1&image=${image}`)).json.data.items;
  expect(linked).toEqual([{ image, url: `https://souk.test/images/I/${image}` }]);
  expect((await tester.raw(`/images/I/${image}`)).text).toMatch(/^<svg /);
  expect((await client.get(`/api/retail/imageurl?domain=1&image=${image}`)).text).toContain(
    'https://images.test/',
  );

  await visitor.get('/explore/product');
  const { html } = await visitor.post('/explore/product', { domain: '1', asin: asins, view: 'product' });
  const [, shown = ''] = /<img class="product" src="([^"]+)"/.exec(html) ?? [];
  expect(shown).toMatch(/^\/images\/I\/\w+\.svg$/);
  expect((await client.raw(shown)).status).toBe(200);
});

test('the pages of a test account that was not created do not exist', async ({ souk }) => {
  const { visitor, accountId } = await signedIn(souk);
  expect((await visitor.get(`/account/test-${accountId}/keys`)).status).toBe(404);
});

test('while the pages show the test account, its owner exports and deletes the whole account', async ({
  souk,
}) => {
  const visitor = await signUp(souk, 'bob@customers.example');
  await visitor.get('/account/keys');
  await visitor.post('/account/test-key', {});
  const { live, test: ofTest } = JSON.parse((await visitor.get('/account/data.json')).html);
  expect(ofTest.profile[0].id).toBe(testAccountOf(live.profile[0].id));
  const planned = await visitor.post('/account/settings/erase', {
    password: PASSWORD,
    confirmation: 'DELETE',
  });
  expect(planned.text).toContain('will be deleted at');
  expect((await visitor.post('/account/settings/keep', {})).text).not.toContain('will be deleted at');
});

test('the navigation marks the page, and only on the overview the overview', async ({ souk }) => {
  const { visitor } = await signedIn(souk);
  const marked = async (path: string) =>
    [...(await visitor.get(path)).html.matchAll(/href="([^"]+)" aria-current="page"/g)].map(
      ([, href]) => href,
    );
  expect(await marked('/account')).toEqual(['/account']);
  expect(new Set(await marked('/account/settings'))).toEqual(new Set(['/account/settings']));
  expect(await marked('/account/trackers/new')).toEqual(['/account/trackers']);
});

test('the console lists no test accounts, and links to the test account from the live one', async ({
  souk,
}) => {
  const { visitor, accountId } = await signedIn(souk);
  await visitor.get('/account/keys');
  await visitor.post('/account/test-key', {});
  const operator = createVisitor(souk.clientOf('').baseUrl, { authorization: `Bearer ${TOKEN}` });
  expect((await operator.get('/admin/accounts')).html).not.toContain(String(testAccountOf(accountId)));
  expect((await operator.get(`/admin/accounts/${accountId}`)).html).toContain(
    `href="/admin/accounts/${testAccountOf(accountId)}"`,
  );
  const ofTest = await operator.get(`/admin/accounts/${testAccountOf(accountId)}`);
  expect(ofTest.text).toContain('Test mode');
  expect(ofTest.html).toContain(`href="/admin/accounts/${accountId}"`);
  expect(ofTest.text).not.toMatch(/Disable|Erase|password reset/);
});

test('a new account sees a product with test data without a key', async ({ souk }) => {
  const { visitor } = await signedIn(souk, { plan: null });
  expect((await visitor.get('/account')).text).toContain('First steps');
  const page = await visitor.post('/account/test-data', {});
  expect([page.path, page.text.includes('Test mode')]).toEqual([
    '/explore/product?domain=1&asin=B08N5WRWNX',
    true,
  ]);
});
