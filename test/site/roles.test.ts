import { readFile } from 'node:fs/promises';
import { request } from 'undici';
import { describe, expect } from 'vitest';
import { addressFor } from '../../src/accounts/account-address.ts';
import { addKey } from '../../src/accounts/account-keys.ts';
import { SCOPES, type Scope, scopeNamed } from '../../src/accounts/key-settings.ts';
import { ROLES } from '../../src/accounts/members.ts';
import { INSTALLATION_ROLES } from '../../src/accounts/people.ts';
import { assetUrl } from '../../src/site/kit/assets.ts';
import { memberOf, ownerOf, signedIn, staffOf } from '../support/customer.ts';
import { CLIENT, openOpenIdProvider } from '../support/openid-provider.ts';
import { servedPaths } from '../support/routes.ts';
import type { Souk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { openStripeStandIn, type StripeStandIn } from '../support/stripe.ts';
import { stripeSettings } from '../support/stripe-customer.ts';
import { fieldIn } from '../support/visitor.ts';

// Every route of the service is in docs/operating/roles.md, in a section with what each role may do there. These tests send a request
// to each route as each role. Forms are empty and ids do not exist, so an allowed request is answered with 400, 303, or 404 about
// the thing.

const TOKEN = 'only-for-the-operator';
const PUBLIC_URL = 'http://127.0.0.1:3000';
const ANYBODY = { allowedDomains: [], hasNewPeople: true, roleClaim: null };

const test = base
  .extend('stripe', { scope: 'file' }, async ({}, { onCleanup }): Promise<StripeStandIn> => {
    const stripe = await openStripeStandIn();
    onCleanup(() => stripe.close());
    return stripe;
  })
  .extend('openId', { scope: 'file' }, async ({}, { onCleanup }) => {
    const provider = await openOpenIdProvider(`${PUBLIC_URL}/sign-in/openid/callback`);
    onCleanup(() => provider.close());
    return { issuer: provider.issuer, ...CLIENT, name: 'Example ID', ...ANYBODY };
  })
  // Settings with which every route exists.
  .override('soukOptions', ({ stripe, openId, demo }) => ({
    workers: 0,
    testUrl: demo.url,
    operator: { adminToken: TOKEN },
    mail: { from: '', publicUrl: PUBLIC_URL, transport: 'console' as const },
    pages: { payments: { way: stripeSettings(stripe), currency: 'eur' }, openId },
  }));

const OUTCOMES = ['yes', 'sign-in', '401', '403', '404'];

/** A section of the document and its routes. */
interface Section {
  name: string;
  routes: string[];
}

const page = await readFile('docs/operating/roles.md', 'utf8');
const [ofPages = '', ofKeys = ''] = page.split('\n## Routes of the API\n');
const sections = sectionsIn(ofPages);
const keySections = sectionsIn(ofKeys);
const [columns = [], ...rows] = tableIn(ofPages);
const who = columns.slice(1);
const cells = new Map(rows.map(([name = '', ...row]) => [name, row]));

function sectionsIn(text: string): Section[] {
  return text
    .split('\n### ')
    .slice(1)
    .map((section) => ({
      name: section.split('\n', 1)[0] ?? '',
      routes: [...section.matchAll(/`([A-Z]+ \/[^`]*)`/g)].map(([, route = '']) => route),
    }));
}

/** The cells of the first table whose header begins with "Section". */
function tableIn(text: string): string[][] {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('| Section '));
  const rest = lines.slice(first);
  const table = rest.slice(
    0,
    rest.findIndex((line) => !line.startsWith('|')),
  );
  return table.filter((line) => !line.startsWith('|-')).map((line) => line.slice(2, -2).split(' | '));
}

let souk: Souk;
let accountId = 0;
/** Headers of a request as a role. */
const headersOf = new Map<string, Record<string, string>>();
/** The cookie and the token of forms. */
let form = { cookie: '', token: '' };

test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  // It receives the bodies of batches.
  await souk.addWorker(['batch']);
  const owner = await signedIn(souk);
  accountId = owner.accountId;
  await owner.visitor.get('/sign-in');
  const shown = await souk.clientOf('').raw('/sign-in', { headers: { accept: 'text/html' } });
  form = {
    cookie: shown.headers['set-cookie']?.split(';')[0] ?? '',
    token: fieldIn(shown.text, '_csrf'),
  };
  const session = ({ cookie }: { cookie: { name: string; value: string } }) => ({
    cookie: `${cookie.name}=${cookie.value}; ${form.cookie}`,
  });
  headersOf.set('visitor', { cookie: form.cookie });
  headersOf.set('stranger', session(await signedIn(souk)));
  headersOf.set('owner', session(owner));
  for (const role of ROLES.filter((one) => one !== 'owner'))
    headersOf.set(role, session(await memberOf(souk, accountId, role)));
  for (const role of INSTALLATION_ROLES) headersOf.set(role, session(await staffOf(souk, role)));
  headersOf.set('token', { authorization: `Bearer ${TOKEN}`, cookie: form.cookie });
});

/** The routes that the service has, as `GET /account/keys`; without HEAD, and without those that only refuse a method. */
async function servedRoutes(): Promise<string[]> {
  const { accountId: ofKey } = await souk.account({ plan: null });
  const key = await keyWith(ofKey, null);
  const routes: string[] = [];
  for (const { path, methods } of servedPaths(souk.gateways[0]?.app)) {
    const real = methods.includes('OPTIONS') ? await allowed(path, key) : methods;
    routes.push(...real.filter((method) => method !== 'HEAD').map((method) => `${method} ${path}`));
  }
  return routes.sort();
}

async function allowed(path: string, key: string): Promise<string[]> {
  const { headers } = await souk.clientOf(key).get(withIds(path), { method: 'OPTIONS' });
  return headers.allow?.split(', ') ?? [];
}

function keyWith(ofAccount: number, scopes: readonly Scope[] | null): Promise<string> {
  const settings = { name: null, scopes, capDay: null, capMonth: null, expiresAt: null, networks: null };
  const given = { settings, createdBy: null, now: souk.clock.now() };
  return addKey(souk.database, ofAccount, given).then(({ key }) => key);
}

/** Replaces the parameters of a path by ids that do not exist. */
function withIds(path: string): string {
  if (path.startsWith('/assets/')) return assetUrl('souk.css');
  const isNumber = /^\/(admin\/(accounts|announcements)|account\/keys|announcements|api\/keys)\//.test(path);
  return path
    .replace(':format', 'csv')
    .replace(':slug', 'webhooks')
    .replace(/:\w+/g, isNumber ? '999999' : '0198a2b0-0000-7000-8000-000000000000')
    .replace('*', 'no-such-page');
}

describe('docs/operating/roles.md', () => {
  test('has every route in one section', async () => {
    const listed = [...sections, ...keySections].flatMap(({ routes }) => routes);
    expect(listed.sort()).toEqual(await servedRoutes());
  });

  test('has a row for each section, and a column for each role', () => {
    expect([...cells.keys()]).toEqual(sections.map(({ name }) => name));
    expect(new Set(who)).toEqual(new Set(['visitor', 'stranger', ...ROLES, ...INSTALLATION_ROLES, 'token']));
    for (const row of cells.values()) {
      expect(row).toHaveLength(who.length);
      for (const cell of row) expect(OUTCOMES).toContain(cell);
    }
  });
});

/** Why a role may not do something. */
const REFUSALS =
  /Your role in this account is|A reset ends the keys of all members, so it requires|Changes are not allowed here|Export the data of this account in the console|You have no role in this installation|Your role in this installation is|The queues are for people with the role operator/;

/** An address that does not exist for the role. */
const HIDDEN = /There is no such account among yours\.|No resource exists at this address\./;

/** Sends a request with an empty form to a route. @returns what the role may do there. */
async function outcomeOf(route: string, headers: Record<string, string>): Promise<string> {
  const [method = '', path = ''] = route.split(' ');
  const address = addressFor(accountId, withIds(path));
  const isForm = method !== 'GET';
  const answer = await request(`${souk.clientOf('').baseUrl}${address}`, {
    method: method as 'GET',
    headers: {
      ...headers,
      accept: 'text/html',
      ...(isForm && !path.startsWith('/admin/queues')
        ? { 'content-type': 'application/x-www-form-urlencoded' }
        : {}),
    },
    ...(isForm && !path.startsWith('/admin/queues')
      ? { body: `_csrf=${encodeURIComponent(form.token)}` }
      : {}),
  });
  const text = await answer.body.text();
  const { statusCode: status } = answer;
  const { location } = answer.headers;
  if (status === 303 && /^\/sign-in(\?|$)/.test(String(location))) return 'sign-in';
  if (status === 401) return '401';
  if (status === 403 && REFUSALS.test(text)) return '403';
  if (status === 404 && HIDDEN.test(text)) return '404';
  // A condition of the session, not of the role.
  if (status === 403 && text.includes('Sign in with Example ID first')) return 'yes';
  const isOdd = status === 403 || status === 429 || status >= 500;
  return isOdd ? `${status}: ${text.replace(/<[^>]*>/g, ' ').slice(0, 2_000)}` : 'yes';
}

/** Requests that are sent at the same time. */
const TOGETHER = 8;

describe.each(who)('pages as %s', (role) => {
  test('do what the document says', async () => {
    const column = who.indexOf(role);
    const headers = headersOf.get(role) ?? {};
    // The last request ends the session.
    const planned = sections
      .flatMap(({ name, routes }) => routes.map((route) => ({ route, cell: cells.get(name)?.[column] })))
      .sort((a, b) => Number(a.route === 'POST /sign-out') - Number(b.route === 'POST /sign-out'));
    expect(planned.at(-1)?.route).toBe('POST /sign-out');
    const last = planned.splice(-1);
    const faults: string[] = [];
    while (planned.length > 0 || last.length > 0) {
      const together = planned.length > 0 ? planned.splice(0, TOGETHER) : last.splice(0);
      await Promise.all(
        together.map(async ({ route, cell }) => {
          const outcome = await outcomeOf(route, headers);
          if (outcome !== cell) faults.push(`${route}: ${outcome} instead of ${cell}`);
        }),
      );
    }
    expect(faults).toEqual([]);
  });
});

test('an account of others and an account that does not exist have the same answer', async () => {
  const headers = { ...headersOf.get('viewer'), accept: 'text/html' };
  const { accountId: ofOthers } = await signedIn(souk);
  expect(await ownerOf(souk.database, ofOthers)).toBeGreaterThan(0);
  const answers = [];
  for (const id of [ofOthers, 99_999_999])
    for (const path of ['', '/keys', '/data.json', '/explore', '/no-such-page']) {
      const { status, text } = await souk.clientOf('').raw(`/account/${id}${path}`, { headers });
      answers.push([status, text.replace(/name="_csrf" value="[^"]+"/g, '').replace(/[0-9a-f-]{36}/g, '')]);
    }
  expect(new Set(answers.slice(0, 4).map(String)).size).toBe(1);
  expect(answers.slice(0, 5)).toEqual(answers.slice(5));
});

describe('the API', () => {
  // The requests as operator pause and resume the queues, including that of batches, in any order.
  test.beforeAll(async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const resume = { method: 'PUT', headers };
    expect((await souk.clientOf('').raw('/admin/queues/api/queues/resume', resume)).status).toBe(200);
  });

  interface Asked {
    route: string;
    headers: Record<string, string>;
    expected: number | null;
  }

  /** @param expected the status of a refusal; null: none. */
  async function ask({ route, headers, expected }: Asked): Promise<string[]> {
    const [method = '', path = ''] = route.split(' ');
    const isGet = method === 'GET';
    const { status, text } = await souk.clientOf('').raw(withIds(path), {
      method,
      headers,
      ...(isGet ? {} : { body: { 'no-such-field': 1 } }),
    });
    // Two operations need no parameters, and no worker is there.
    const isTaken = ![401, 403].includes(status) && (status < 500 || text.includes('No worker is available'));
    const isRight = expected === null ? isTaken : status === expected;
    return isRight ? [] : [`${route}: ${status} ${text.slice(0, 200)}`];
  }

  /** @returns the faults of requests to all routes. */
  async function faultsOf(
    plan: (section: Section) => Pick<Asked, 'headers' | 'expected'>,
  ): Promise<string[]> {
    const asked = keySections.flatMap((section) =>
      section.routes.map((route) => ({ route, ...plan(section) })),
    );
    const faults: string[] = [];
    while (asked.length > 0) faults.push(...(await Promise.all(asked.splice(0, TOGETHER).map(ask))).flat());
    return faults;
  }

  /** The scopes of a section, of which a key needs one; null: any key. */
  const scopesOf = ({ name }: Section): Scope[] | null =>
    name === 'Any key' ? null : name.split(', ').map(scopeNamed);

  test('has sections that are named by scopes', () => {
    const names = keySections
      .filter(({ name }) => name !== 'Any key')
      .flatMap(({ name }) => name.split(', '));
    expect(new Set(names)).toEqual(new Set(SCOPES));
  });

  test.for(['visitor', 'owner', 'operator', 'token'])('returns 401 without a key, as %s', async (role) => {
    const headers = { ...headersOf.get(role) };
    expect(await faultsOf(() => ({ headers, expected: 401 }))).toEqual([]);
  });

  test('accepts a key without limits, except where it needs the scope keys', async () => {
    const { accountId: of } = await souk.account({ plan: null });
    const headers = { 'x-api-key': await keyWith(of, null) };
    const plan = (section: Section) => ({
      headers,
      expected: scopesOf(section)?.join() === 'keys' ? 403 : null,
    });
    expect(await faultsOf(plan)).toEqual([]);
  });

  test.for(SCOPES)('accepts a key with the scope %s only where the document names it', async (scope) => {
    const { accountId: of } = await souk.account({ plan: null });
    const headers = { 'x-api-key': await keyWith(of, [scope]) };
    const plan = (section: Section) => ({
      headers,
      expected: scopesOf(section)?.includes(scope) === false ? 403 : null,
    });
    expect(await faultsOf(plan)).toEqual([]);
  });
});
