import { v7 as uuid } from 'uuid';
import { describe, expect } from 'vitest';
import { type Customer, PAGES, signedIn } from '../support/customer.ts';
import { servedPaths } from '../support/routes.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, fieldIn } from '../support/visitor.ts';
import { words } from '../support/words.ts';

interface PageRoute {
  method: 'GET' | 'POST';
  path: string;
}

/** Routes outside the API, and routes with another kind of authorisation. */
function pageRoutes(souk: Souk): PageRoute[] {
  return servedPaths(souk.gateways[0]?.app)
    .flatMap(({ path, methods }) => methods.map((method) => ({ method, path })))
    .filter((route): route is PageRoute => route.method === 'GET' || route.method === 'POST')
    .filter(({ path }) => path === '/' || /^\/(account|sign-)/.test(path));
}

/** Returns a route with values for its parameters. */
function addressed(path: string, id: string): string {
  return path.replace(':format', 'ndjson').replace(/:\w+/g, id);
}

test.override('soukOptions', { pages: PAGES });

let customer: Customer;
let routes: PageRoute[];
test.beforeAll(async ({ souk }) => {
  customer = await signedIn(souk);
  routes = pageRoutes(souk);
});

const posts = () =>
  routes.filter(({ method }) => method === 'POST').map(({ path }) => addressed(path, uuid()));
const gets = (id: string) =>
  routes.filter(({ method }) => method === 'GET').map(({ path }) => addressed(path, id));

test('the list of page routes contains the forms', () => {
  expect(posts().length).toBeGreaterThan(20);
  expect(gets(uuid()).length).toBeGreaterThan(20);
  expect(posts()).toEqual(
    expect.arrayContaining(['/account/try', '/account/schedules/new', '/account/keys/reset']),
  );
});

describe('every POST of a page', () => {
  test('returns 403 without a CSRF token, with a wrong one, and with that of another session', async ({
    souk,
  }) => {
    const other = await signedIn(souk);
    const { html } = await other.visitor.get('/account/keys');
    const foreign = fieldIn(html, '_csrf');
    expect(foreign).not.toBe('');
    await customer.visitor.get('/account/keys');
    const forms: Record<string, string>[] = [{}, { _csrf: '' }, { _csrf: 'made-up' }, { _csrf: foreign }];
    for (const path of posts()) {
      for (const fields of forms) {
        const { status } = await customer.visitor.send(path, fields);
        expect({ path, fields, status }).toEqual({ path, fields, status: 403 });
      }
    }
  });

  test('leads to the sign-in without a session', async () => {
    const stranger = createVisitor(customer.client.baseUrl);
    await stranger.get('/sign-in');
    for (const path of posts().filter((one) => one.startsWith('/account'))) {
      const { path: reached } = await stranger.post(path, {});
      expect({ path, reached }).toEqual({ path, reached: '/sign-in' });
    }
  });
});

test('all forms of a page have the CSRF token of a new session', async ({ souk }) => {
  const fresh = await signedIn(souk);
  const { html } = await fresh.visitor.get('/account/webhooks');
  const tokens = [...html.matchAll(/name="_csrf" value="([^"]+)"/g)].map(([, token]) => token);
  expect(tokens.length).toBeGreaterThan(2);
  expect(new Set(tokens).size).toBe(1);
});

describe('hostile input', () => {
  const HOSTILE = [
    '',
    "'",
    '<script>alert(1)</script>',
    '\u0000',
    '../../x',
    '__proto__',
    'é'.repeat(500),
    uuid(),
  ];

  test.each(HOSTILE)('%j in an address causes no server error and does not become HTML', async (value) => {
    const query = words(`
      state cursor operation kind wallet from days measure to code p.asins
    `);
    for (const path of gets(encodeURIComponent(value || '-')).filter((one) => one.startsWith('/account'))) {
      const search = new URLSearchParams(query.map((name) => [name, value]));
      for (const address of [path, `${path}?${search}`]) {
        const { status, html } = await customer.visitor.get(address);
        expect({ address, isFine: status < 500 }).toEqual({ address, isFine: true });
        expect(html).not.toContain('<script>alert');
      }
    }
  });

  test.each(HOSTILE)('%j in a form causes no server error and does not become HTML', async (value) => {
    const names = words(`
      id url name times at weekday monthDay cron timezone words rankMin chat subject operation layout items p.decode parameter intent maxUnits window
      deadline webhook runHours asin domain range p.domain
    `);
    const fields = Object.fromEntries(names.map((name) => [name, value]));
    // All forms of a session have the same token.
    await customer.visitor.get('/account/keys');
    for (const path of posts().filter((one) => /^\/account\/(?!keys|settings)/.test(one))) {
      for (const sent of [fields, { ...fields, operation: 'market.product', items: 'B0GOOD0001' }]) {
        const { status, html } = await customer.visitor.post(path, sent);
        expect({ path, isFine: status < 500 }).toEqual({ path, isFine: true });
        expect(html).not.toContain('<script>alert');
      }
    }
  });
});
