import { expect } from 'vitest';
import { PAGES, signedIn } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

/** Requests that an address may send for open pages within five seconds. */
const LIMIT = 5;

test.override('soukOptions', {
  workers: 0,
  pages: PAGES,
  limits: { openPagesPerSecond: LIMIT / 5 },
  gateway: { trustProxy: 'loopback' },
});

let numbers = 0;

/** Loads a page from an address in a network of its own, or from a given one. */
function load(souk: Souk, path: string, address?: string, headers: Record<string, string> = {}) {
  numbers += 1;
  const from = { 'x-forwarded-for': address ?? `10.${numbers}.0.1` };
  return souk.clientOf('').raw(path, { headers: { ...from, ...headers } });
}

test.for(['/', '/docs', '/status', '/sign-in'])(
  'limits requests of one address for %s, and not those of others',
  async (path, { souk }) => {
    // More than three windows allow, because further windows may begin on a slow machine.
    const replies = await Promise.all(Array.from({ length: 4 * LIMIT }, () => load(souk, path, '192.0.2.1')));
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);
    expect((await load(souk, path)).status).toBe(200);
  },
);

test('does not limit the pages of signed-in customers by address', async ({ souk }) => {
  const { visitor } = await signedIn(souk);
  for (let n = 0; n < 3 * LIMIT; n += 1) expect((await visitor.get('/account')).path).toBe('/account');
});

test.for(['/', '/docs', '/status'])(
  'sends the same bytes of %s to all visitors, and 304 to those who have them',
  async (path, { souk }) => {
    const [first, second] = [await load(souk, path), await load(souk, path)];
    expect([first.status, first.headers.etag]).toEqual([200, expect.stringMatching(/^".{20,}"$/)]);
    expect([second.text, second.headers.etag]).toEqual([first.text, first.headers.etag]);
    const again = await load(souk, path, undefined, { 'if-none-match': String(first.headers.etag) });
    expect(again.status).toBe(304);
  },
);

test('shows a plan on the front page that is offered after the page was kept', async ({ souk }) => {
  expect((await load(souk, '/')).text).not.toContain('Plan of a moment ago');
  await souk.database.query(
    `insert into plans (code, name, price_cents, is_offered) values ('new', 'Plan of a moment ago', 100, true)`,
  );
  expect((await load(souk, '/')).text).toContain('Plan of a moment ago');
});

test('shows a customer who is signed in the own front page', async ({ souk }) => {
  await load(souk, '/');
  const { visitor } = await signedIn(souk);
  expect((await visitor.get('/')).text).toContain('Go to your account');
});
