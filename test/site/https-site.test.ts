import { expect } from 'vitest';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

const FIELDS = { name: 'Customer', password: 'a long enough password' };
const NAMES = ['__Host-souk_device', '__Host-souk_form', '__Host-souk_session'];

async function expectHostCookies(visitor: Visitor, email: string): Promise<void> {
  const { headers } = await visitor.get('/sign-up');
  expect(String(headers['set-cookie'])).toMatch(
    /^__Host-souk_form=.*; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  );
  expect((await visitor.post('/sign-up', { ...FIELDS, email })).path).toBe('/account');
  expect([...visitor.cookies.keys()].sort()).toEqual(NAMES);
  // Another host of the domain could have set a cookie without the prefix.
  const token = visitor.cookies.get('__Host-souk_session') ?? '';
  visitor.cookies.delete('__Host-souk_session');
  visitor.cookies.set('souk_session', token);
  expect((await visitor.get('/account')).path).toMatch(/^\/sign-in\?to=%2Faccount%2F\d+$/);
  visitor.cookies.delete('souk_session');
  visitor.cookies.set('__Host-souk_session', token);
  await visitor.get('/account');
  await visitor.post('/sign-out', {});
  expect(visitor.cookies.has('__Host-souk_session')).toBe(false);
}

test.override('soukOptions', {
  workers: 0,
  pages: { publicUrl: 'https://souk.example', payments: { way: 'demo', currency: 'usd' } },
});

test('a site with an https PUBLIC_URL sends Strict-Transport-Security with pages, answers and errors', async ({
  client,
}) => {
  for (const path of ['/', '/docs', '/api/quota', '/nothing', '/healthz'])
    expect([path, (await client.raw(path)).headers['strict-transport-security']]).toEqual([
      path,
      'max-age=31536000',
    ]);
});

test('a site with an https PUBLIC_URL uses cookies with the __Host- prefix', async ({ client }) => {
  await expectHostCookies(createVisitor(client.baseUrl), 'public-url@test.example');
});

test('a site behind a trusted https proxy uses cookies with the __Host- prefix', async ({ openAnother }) => {
  const souk = await openAnother({ workers: 0, gateway: { trustProxy: 'loopback' } });
  const { baseUrl } = souk.clientOf('');
  await expectHostCookies(createVisitor(baseUrl, { 'x-forwarded-proto': 'https' }), 'proxy@test.example');
  const plain = createVisitor(baseUrl);
  await plain.get('/sign-up');
  expect([...plain.cookies.keys()]).toEqual(['souk_form']);
});

test('answers HEAD requests for documents and files', async ({ client }) => {
  const { text } = await client.raw('/docs');
  const [style = ''] = /\/assets\/[^"]+\.css/.exec(text) ?? [];
  for (const path of ['/docs', '/docs/errors', '/docs/api', style, '/', '/sign-in'])
    expect([path, (await client.raw(path, { method: 'HEAD' })).status]).toEqual([path, 200]);
});
