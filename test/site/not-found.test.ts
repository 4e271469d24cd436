import { expect } from 'vitest';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 0 });

const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

test.for(['/nowhere', '/docs/nowhere', '/account/nowhere/deeper', '/apis', '/admin/nowhere'])(
  'shows a page for the unknown address %s to a browser',
  async (path, { client }) => {
    const { status, headers, text } = await client.raw(path, BROWSER);
    if (status === 303) return expect(path).toMatch(/^\/account/);
    expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(text).toContain('Not found');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  },
);

test('a page for an unknown address leads a customer back to the account', async ({ client }) => {
  const headers = { ...BROWSER.headers, cookie: 'souk_session=any' };
  const { text } = await client.raw('/nowhere', { headers });
  expect(text).toContain('href="/account/usage"');
  expect(text).not.toContain('href="/sign-in"');
  expect((await client.raw('/nowhere', BROWSER)).text).toContain('href="/sign-in"');
});

test('answers an unknown address of the API, or a program, with JSON', async ({ client }) => {
  for (const reply of [await client.get('/api/nowhere', BROWSER), await client.raw('/nowhere')]) {
    expect([reply.status, reply.json.code]).toEqual([404, 'NOT_FOUND']);
  }
});
