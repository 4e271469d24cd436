import { request } from 'undici';
import { beforeEach, describe, expect } from 'vitest';
import { createInvitationToken, invite } from '../../src/accounts/invitations.ts';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { accountPath } from '../../src/site/visitor/sign-in.tsx';
import { accountOf, buy, expectPage, PAGES, PASSWORD, signUp } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

test.override('soukOptions', { workers: 0, pages: PAGES });

describe('signing in', () => {
  let souk: Souk;
  let visitor: Visitor;
  let email: string;
  let number = 0;
  test.beforeAll(async ({ souk: opened }) => {
    souk = opened;
  });
  beforeEach(async () => {
    number += 1;
    email = `customer-${number}@test.example`;
    visitor = await signUp(souk, email);
  });

  const stranger = () => createVisitor(souk.clientOf('').baseUrl);

  async function signIn(as: Visitor, fields: { email: string; password: string; to?: string }) {
    await as.get('/sign-in');
    return as.post('/sign-in', fields);
  }

  test('accepts the right password and the address in any case, and redirects to the requested page', async () => {
    const other = stranger();
    const asked = await other.get('/account/keys');
    expect(asked.path).toBe('/sign-in?to=%2Faccount%2Fkeys');
    const page = await signIn(other, { email: email.toUpperCase(), password: PASSWORD, to: '/account/keys' });
    expect(page.path).toBe('/account/keys');
  });

  test('works for a person whose accounts are all disabled, for invitations and the console, and shows none of the accounts', async () => {
    const accountId = await accountOf(souk.database, email);
    await souk.database.query("update accounts set state = 'disabled' where id = $1", [accountId]);
    await souk.database.query("update people set installation_role = 'support' where email = $1", [email]);
    const other = stranger();
    expectPage(await signIn(other, { email, password: PASSWORD }), 403, 'This account is disabled');
    const admin = await signIn(stranger(), { email, password: PASSWORD, to: '/admin' });
    expect(admin.path).toBe('/admin');
    const invited = await souk.account();
    const token = await inTransaction(souk.database, async (client) => {
      const asked = { accountId: invited.accountId, email, role: 'viewer', by: null } as const;
      return createInvitationToken(client, await invite(client, asked, souk.clock.now()), souk.clock.now());
    });
    const guest = stranger();
    const to = `/invitation?token=${token}`;
    expectPage(await signIn(guest, { email, password: PASSWORD, to }), 200, 'Accept');
    const joined = await guest.post('/invitation/accept', { token: String(token) });
    expect([joined.status, joined.address]).toEqual([200, `/account/${invited.accountId}`]);
  });

  test('redirects without the requested page if its address is too long for a header', async () => {
    const path = `/account/usage?from=${'%25'.repeat(4_000)}`;
    const { headers } = await request(`${souk.clientOf('').baseUrl}${path}`);
    expect(headers.location).toBe('/sign-in');
    const page = await signIn(stranger(), { email, password: PASSWORD, to: path });
    expect(page.path).toBe('/account');
  });

  test('returns the same error for a wrong address and a wrong password', async () => {
    const wrong = await signIn(stranger(), { email, password: 'not the password' });
    const unknown = await signIn(stranger(), { email: 'unknown@test.example', password: PASSWORD });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(wrong.text.replace(email, '')).toBe(unknown.text.replace('unknown@test.example', ''));
  });

  test.each([
    { email: 'a@b.example', name: 'a\u0000b', password: 'a\u0000long enough password' },
    { email: 'a\u0000@b.example', name: '\ud800', password: PASSWORD, to: '/account/\u4e2d' },
  ])('accepts unusual characters: %o', async (fields) => {
    const other = stranger();
    await other.get('/sign-up');
    expect((await other.post('/sign-up', { ...fields, email: `${number}${fields.email}` })).status).toBe(200);
    for (const path of [
      '/sign-in?to=/account/%E4%B8%AD',
      '/sign-in?to=%00',
      '/account/checkout?kind=plan&code=%00',
    ])
      expect((await other.get(path)).status).toBe(200);
  });

  test('returns 415 for a body that is not a form', async () => {
    const { statusCode } = await request(`${souk.clientOf('').baseUrl}/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"to":"\\ud800"}',
    });
    expect(statusCode).toBe(415);
  });

  test('creates a new session token, also for a browser that sends one', async () => {
    const before = visitor.cookies.get('souk_session');
    await visitor.post('/sign-out', {});
    visitor.cookies.set('souk_session', before ?? '');
    await signIn(visitor, { email, password: PASSWORD });
    expect(visitor.cookies.get('souk_session')).toHaveLength(43);
    expect(visitor.cookies.get('souk_session')).not.toBe(before);
  });

  test('a session lasts for a week after the last visit, and ends when the customer signs out', async () => {
    souk.clock.advance(6 * 86_400_000);
    expect((await visitor.get('/account')).path).toBe('/account');
    souk.clock.advance(6 * 86_400_000);
    expect((await visitor.get('/account')).path).toBe('/account');
    const token = visitor.cookies.get('souk_session') ?? '';
    const csrf = visitor.cookies.get('souk_form') ?? '';
    await visitor.post('/sign-out', {});
    expect(visitor.cookies.has('souk_session')).toBe(false);
    const thief = stranger();
    thief.cookies.set('souk_session', token).set('souk_form', csrf);
    expect((await thief.get('/account')).path).toContain('/sign-in');

    const another = stranger();
    await signIn(another, { email, password: PASSWORD });
    souk.clock.advance(7 * 86_400_000 + 1);
    expect((await another.get('/account')).path).toContain('/sign-in');
  });

  test('a password change ends the sessions of other browsers, and the old password no longer works', async () => {
    const other = stranger();
    await signIn(other, { email, password: PASSWORD });
    await visitor.get('/account/settings');
    const wrong = await visitor.post('/profile/password', {
      current: 'no',
      password: 'another password',
    });
    expectPage(wrong, 400, 'Incorrect password');
    const changed = await visitor.post('/profile/password', {
      current: PASSWORD,
      password: 'another password',
    });
    expect(changed.text).toContain('Your password has been changed');
    expect((await other.get('/account')).path).toContain('/sign-in');
    expect((await signIn(other, { email, password: PASSWORD })).status).toBe(401);
    expect((await signIn(other, { email, password: 'another password' })).path).toBe('/account');
  });

  test('stores no password, session token or key of the pages in plain text', async () => {
    const token = visitor.cookies.get('souk_session') ?? '';
    const { rows } = await souk.database.query<{ hash: string }>('select hash from passwords');
    for (const { hash } of rows) expect(hash).toMatch(/^\$argon2id\$/);
    const dump = JSON.stringify([
      (await souk.database.query('select encode(token_hash, $1) from web_sessions', ['base64'])).rows,
      (await souk.database.query('select encode(hash, $1), prefix from api_keys', ['base64'])).rows,
      souk.logLines,
    ]);
    expect(dump).not.toContain(token);
    expect(dump).not.toContain(PASSWORD);
  });

  test.each([
    [{ email: 'no address', name: 'X', password: PASSWORD }, 400, 'must be an e-mail address'],
    [{ email: 'a@b.example', name: '', password: PASSWORD }, 400, 'is required'],
    [{ email: 'a@b.example', name: 'X', password: 'short' }, 400, 'must have at least 10 characters'],
    [{ email: 'a@b.example', name: 'X'.repeat(101), password: PASSWORD }, 400, 'at most 100'],
    [{ email: 'a@b.example' }, 400, 'is required'],
  ])('a sign-up with %o shows an error on its page', async (fields, status, text) => {
    const other = stranger();
    await other.get('/sign-up');
    const page = await other.post('/sign-up', fields);
    expect([page.status, page.text.includes(text)]).toEqual([status, true]);
  });

  test('a sign-up with an existing e-mail address returns 409', async () => {
    const other = stranger();
    await other.get('/sign-up');
    const page = await other.post('/sign-up', { email, name: 'Another', password: PASSWORD });
    expectPage(page, 409, 'already has an account');
  });

  test('pages have headers against framing and foreign content', async () => {
    const { headers } = await visitor.get('/account');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    expect(headers['content-security-policy']).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    );
  });
});

test.each([
  ['/account/keys', '/account/keys'],
  ['/account/checkout?kind=plan&code=pro', '/account/checkout?kind=plan&code=pro'],
  ['//evil.example', '/account'],
  ['https://evil.example', '/account'],
  ['/\\evil.example', '/account'],
  ['/account\\@evil', '/account'],
  ['/sign-out', '/account'],
  ['/account/../sign-out', '/account'],
  ['/account/%2e%2E/sign-out', '/account'],
  ['/account/../admin', '/admin'],
  ['/admin/../account/keys', '/account/keys'],
  ['/adminx.evil', '/account'],
  ['/admin/%2e%2e/sign-in', '/account'],
  ['/admin/./accounts', '/admin/accounts'],
  ['/account/./keys/../jobs', '/account/jobs'],
  ['/account/..//evil.example', '/account'],
  ['/accountx.evil', '/account'],
  ['/accounts', '/account'],
  ['/docs-evil/x', '/account'],
  ['/docs/errors#4001', '/docs/errors'],
  ['/account?days=7', '/account?days=7'],
  [undefined, '/account'],
  [['/docs', '/docs'], '/account'],
])('the sign-in with to=%o redirects to %s', (to, path) => {
  expect(accountPath(to)).toBe(path);
});

test('a new customer signs up, buys a plan, sees the key once, and makes a call with it', async ({
  souk,
}) => {
  await ensureStandardPlans(souk.database);
  const visitor = createVisitor(souk.clientOf('').baseUrl);
  const home = await visitor.get('/');
  for (const text of ['Enterprise', 'Lumio Wireless Headphones', 'market_get_product', 'import requests'])
    expect(home.text).toContain(text);
  const chart = JSON.parse(/data-chart="([^"]+)"/.exec(home.html)?.[1]?.replaceAll('&quot;', '"') ?? '{}');
  expect(chart.series[0].values.length).toBeGreaterThan(20);
  await visitor.get('/sign-up');
  const first = await visitor.post('/sign-up', {
    email: 'New@Customer.example',
    name: 'A <b>new</b> customer',
    password: 'correct horse battery',
  });
  expect(first.path).toBe('/account');
  expect(first.text).toContain('First steps');
  expect((await visitor.get('/account/plans')).text).toContain('Demo payments');
  const terms = { quantity: '2', months: '3' };
  const { orderId, page: bought } = await buy(visitor, 'kind=plan&code=basic', terms);
  const order = { orderId, kind: 'plan', code: 'basic', wallet: 'general', ...terms };
  expect(bought.text).toContain('Purchase complete');
  expect(bought.text).toContain('Basic × 2, 3 months');
  const key = /km_[A-Za-z0-9]{32}/.exec(bought.text)?.[0] ?? '';
  for (const example of ["curl -H 'X-API-Key: KEY'", "'X-API-Key': 'KEY'", '{"X-API-Key": "KEY"}'])
    expect(bought.text).toContain(example.replace('KEY', key));
  const quota = (await souk.clientOf(key).get('/api/quota')).json.data;
  expect(quota.general).toMatchObject({ subscribed: true, quantity: 2, plan: { name: 'Basic' } });

  // Sending the form again, as after a reload, returns the same purchase and no key.
  const again = await visitor.post('/account/checkout', order);
  expect(again.path).toBe(`/account/orders/${orderId}`);
  expect(again.text).not.toContain('km_');
  const keys = await visitor.get('/account/keys');
  expect(keys.text).toContain(`${key.slice(0, 7)}…`);
  expect(keys.text).not.toContain(key);
  const overview = await visitor.get('/account');
  expect(overview.text).toContain('Hello, A <b>new</b> customer');
  expect(overview.html).not.toContain('<b>new</b>');
  expect(overview.text).toContain('Your next call uses the units of your plan');
});
