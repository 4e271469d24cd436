import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Customer, PAGES, signedIn } from '../support/customer.ts';
import { openSouk, type Souk } from '../support/souk.ts';
import { createVisitor } from '../support/visitor.ts';

interface PageRoute {
  method: 'GET' | 'POST';
  path: string;
}

/** What the service has besides its interface and what is signed or authorised in other ways. */
function pageRoutes(souk: Souk): PageRoute[] {
  const tree = souk.gateways[0]?.app.printRoutes({ commonPrefix: false }) ?? '';
  const branch: string[] = [];
  const routes: PageRoute[] = [];
  for (const line of tree.split('\n')) {
    const [, indent = '', part, methods] =
      /^((?:[│ ] {3})*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
    if (part === undefined) continue;
    branch.splice(indent.length / 4, Number.POSITIVE_INFINITY, part);
    for (const method of methods?.split(', ') ?? [])
      if (method === 'GET' || method === 'POST') routes.push({ method, path: branch.join('') });
  }
  return routes.filter(({ path }) => path === '/' || /^\/(account|sign-)/.test(path));
}

/** A route with something in the place of its parameters. */
function addressed(path: string, id: string): string {
  return path.replace(/:format\(.*?\)\$?\)/, 'ndjson').replace(/:\w+/g, id);
}

let souk: Souk;
let customer: Customer;
let routes: PageRoute[];
beforeAll(async () => {
  souk = await openSouk({ pages: PAGES });
  customer = await signedIn(souk);
  routes = pageRoutes(souk);
});
afterAll(() => souk.close());

const posts = () =>
  routes.filter(({ method }) => method === 'POST').map(({ path }) => addressed(path, uuid()));
const gets = (id: string) =>
  routes.filter(({ method }) => method === 'GET').map(({ path }) => addressed(path, id));

test('the routes of pages are found', () => {
  expect(posts().length).toBeGreaterThan(20);
  expect(gets(uuid()).length).toBeGreaterThan(20);
  expect(posts()).toEqual(
    expect.arrayContaining(['/account/try', '/account/schedules/new', '/account/keys/reset']),
  );
});

describe('whatever changes something', () => {
  test('is refused without a token, with a wrong one, and with that of another browser', async () => {
    const other = await signedIn(souk);
    const { html } = await other.visitor.get('/account/keys');
    const foreign = /name="_csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
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

  test('leads whoever is not signed in to the sign-in', async () => {
    const stranger = createVisitor(customer.client.baseUrl);
    await stranger.get('/sign-in');
    for (const path of posts().filter((one) => one.startsWith('/account'))) {
      const { path: reached } = await stranger.post(path, {});
      expect({ path, reached }).toEqual({ path, reached: '/sign-in' });
    }
  });
});

test('every form of a page works for a browser that comes with its session alone', async () => {
  const fresh = await signedIn(souk);
  const { html } = await fresh.visitor.get('/account/webhooks');
  const tokens = [...html.matchAll(/name="_csrf" value="([^"]+)"/g)].map(([, token]) => token);
  expect(tokens.length).toBeGreaterThan(2);
  expect(new Set(tokens).size).toBe(1);
});

describe('nothing that is sent to a page', () => {
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

  test.each(HOSTILE)('as %j in an address is an error of ours, or becomes HTML', async (value) => {
    const query = [
      'state',
      'cursor',
      'operation',
      'kind',
      'wallet',
      'from',
      'days',
      'measure',
      'to',
      'code',
      'p.asins',
    ];
    for (const path of gets(encodeURIComponent(value || '-')).filter((one) => one.startsWith('/account'))) {
      const search = new URLSearchParams(query.map((name) => [name, value]));
      for (const address of [path, `${path}?${search}`]) {
        const { status, html } = await customer.visitor.get(address);
        expect({ address, isFine: status < 500 }).toEqual({ address, isFine: true });
        expect(html).not.toContain('<script>alert');
      }
    }
  });

  test.each(HOSTILE)('as %j in a form is an error of ours, or becomes HTML', async (value) => {
    const names = [
      'id',
      'url',
      'name',
      'cron',
      'timezone',
      'operation',
      'layout',
      'items',
      'params',
      'parameter',
    ];
    const more = [
      'intent',
      'maxUnits',
      'window',
      'deadline',
      'webhook',
      'runHours',
      'asin',
      'domain',
      'range',
      'p.domain',
    ];
    const fields = Object.fromEntries([...names, ...more].map((name) => [name, value]));
    for (const path of posts().filter((one) => /^\/account\/(?!keys|settings)/.test(one))) {
      for (const sent of [fields, { ...fields, operation: 'market.product', items: 'B0GOOD0001' }]) {
        await customer.visitor.get('/account/keys');
        const { status, html } = await customer.visitor.post(path, sent);
        expect({ path, isFine: status < 500 }).toEqual({ path, isFine: true });
        expect(html).not.toContain('<script>alert');
      }
    }
  });
});
