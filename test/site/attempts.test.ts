import { describe, expect } from 'vitest';
import { createPasswordReset, findPassword } from '../../src/accounts/passwords.ts';
import { COSTLY } from '../support/cheap-argon2.ts';
import { expectPage, PAGES, PASSWORD, staffOf } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

const TOKEN = 'only-for-the-operator';

test.override('soukOptions', {
  workers: 0,
  gateways: 2,
  pages: { ...PAGES, signUpsPerHour: 5 },
  operator: { adminToken: TOKEN, metricsToken: TOKEN },
  gateway: { trustProxy: 'loopback' },
});

let numbers = 0;

/** An address in a network of its own. */
function newAddress(): string {
  numbers += 1;
  return `10.${numbers}.0.1`;
}

/** A browser at an address. */
function browser(souk: Souk, address = newAddress(), gateway = 0): Visitor {
  return createVisitor(souk.clientOf('', gateway).baseUrl, { 'x-forwarded-for': address });
}

async function signUp(souk: Souk, address?: string, email?: string, gateway = 0, password = PASSWORD) {
  const visitor = browser(souk, address, gateway);
  await visitor.get('/sign-up');
  numbers += 1;
  const fields = { email: email ?? `visitor-${numbers}@test.example`, name: 'Visitor', password };
  return { visitor, email: fields.email, page: await visitor.post('/sign-up', fields) };
}

async function signIn(visitor: Visitor, email: string, password: string) {
  await visitor.get('/sign-in');
  return visitor.post('/sign-in', { email, password });
}

async function guess(visitor: Visitor, email: string, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < times; i += 1)
    statuses.push((await signIn(visitor, email, `guess number ${i}`)).status);
  return statuses;
}

describe('ten wrong passwords from one network', () => {
  test('block it at all gateways, also for the right password', async ({ souk }) => {
    const { email } = await signUp(souk);
    const address = newAddress();
    expect(await guess(browser(souk, address), email, 5)).toEqual(Array(5).fill(401));
    expect(await guess(browser(souk, address, 1), email, 6)).toEqual([...Array(5).fill(401), 429]);
    const refused = await signIn(browser(souk, address), email, PASSWORD);
    expectPage(refused, 429, 'Too many attempts');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(600);
  });

  test('do not block the owner in another network', async ({ souk }) => {
    const { email } = await signUp(souk);
    await guess(browser(souk), email, 11);
    expect((await signIn(browser(souk), email, PASSWORD)).path).toBe('/account');
  });

  test('block the owner in the same network only in browsers that have never signed in', async ({ souk }) => {
    const address = newAddress();
    const { email, visitor } = await signUp(souk, address);
    await visitor.post('/sign-out', {});
    await guess(browser(souk, address), email, 11);
    expect((await signIn(visitor, email, PASSWORD)).path).toBe('/account');
    // A browser that has signed in to another account has no exemption.
    const other = await signUp(souk, address);
    await other.visitor.post('/sign-out', {});
    expect((await signIn(other.visitor, email, PASSWORD)).status).toBe(429);
  });

  test('also block a browser that has signed in before', async ({ souk }) => {
    const { email, visitor } = await signUp(souk);
    await visitor.post('/sign-out', {});
    expect(await guess(visitor, email, 11)).toEqual([...Array(10).fill(401), 429]);
    expect((await signIn(browser(souk), email, PASSWORD)).path).toBe('/account');
  });

  test('do not end a session', async ({ souk }) => {
    const { email, visitor } = await signUp(souk);
    await guess(browser(souk), email, 11);
    expect((await visitor.get('/account')).path).toBe('/account');
  });
});

test('signs in a customer while another network sends more correct passwords than may wait', async ({
  souk,
}) => {
  const address = newAddress();
  const password = `${COSTLY} password`;
  const known: { visitor: Visitor; email: string }[] = [];
  for (let n = 0; n < 4; n += 1) {
    const { visitor, email } = await signUp(souk, address, undefined, 0, password);
    known.push({ visitor, email });
  }
  let isOver = false;
  const flood = known.flatMap(({ visitor, email }) =>
    Array.from({ length: 12 }, async () => {
      let status = 0;
      while (!isOver && status !== 429) status = (await visitor.post('/sign-in', { email, password })).status;
    }),
  );
  const { email } = await signUp(souk);
  const paths: string[] = [];
  for (let n = 0; n < 5; n += 1) paths.push((await signIn(browser(souk), email, PASSWORD)).path);
  isOver = true;
  await Promise.all(flood);
  expect(paths).toEqual(Array(5).fill('/account'));
});

test('refuses attempts for an account after 20 successful sign-ins, in every network', async ({ souk }) => {
  const { email } = await signUp(souk);
  const other = await signUp(souk);
  const ends: string[] = [];
  for (let n = 0; n < 20; n += 1) ends.push((await signIn(browser(souk), email, PASSWORD)).path);
  expect(ends).toEqual(Array(20).fill('/account'));
  const refused = await signIn(browser(souk), email, PASSWORD);
  expectPage(refused, 429, 'Too many attempts');
  expect((await signIn(browser(souk), other.email, PASSWORD)).path).toBe('/account');
});

test('new passwords for one reset link are refused after ten attempts, before they are hashed', async ({
  souk,
}) => {
  const { email } = await signUp(souk);
  const stored = await findPassword(souk.database, email);
  if (!stored) throw new Error('no password');
  const token = await createPasswordReset(souk.database, stored.personId, souk.clock.now());
  const visitor = browser(souk);
  await visitor.get(`/reset-password?token=${token}`);
  const posts = Array.from({ length: 15 }, (_, n) =>
    visitor.post('/reset-password', { token, password: `${COSTLY} password ${n}` }),
  );
  const statuses = (await Promise.all(posts)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  expect(statuses).toContain(200);
});

test('forty wrong passwords for many accounts block a network, by its prefix for IPv6', async ({ souk }) => {
  const { email } = await signUp(souk);
  for (let i = 0; i < 40; i += 1)
    expect((await guess(browser(souk, `2001:db8:7::${i}`), `unknown-${i}@test.example`, 1))[0]).toBe(401);
  expect((await signIn(browser(souk, '2001:db8:7::ffff'), email, PASSWORD)).status).toBe(429);
  expect((await signIn(browser(souk, '2001:db8:8::1'), email, PASSWORD)).path).toBe('/account');
});

test('a password change removes the exemption of browsers that signed in with the old password', async ({
  souk,
}) => {
  const address = newAddress();
  const { email, visitor } = await signUp(souk, address);
  const old = browser(souk, address);
  await signIn(old, email, PASSWORD);
  await old.post('/sign-out', {});
  await visitor.get('/account/settings');
  await visitor.post('/profile/password', { current: PASSWORD, password: 'another password' });
  await guess(browser(souk, address), email, 11);
  expect((await signIn(old, email, 'another password')).status).toBe(429);
  await visitor.get('/account');
  await visitor.post('/sign-out', {});
  expect((await signIn(visitor, email, 'another password')).path).toBe('/account');
});

describe('sign-ups', () => {
  test.for([
    ['an IPv4 network', (host: number) => `198.51.100.${host}`, '198.51.101.1'],
    ['an IPv6 network', (host: number) => `2001:db8:1:2::${host}`, '2001:db8:1:3::1'],
  ] as const)('from %s are refused after five attempts in an hour', async (row, { souk }) => {
    const [, addressOf, elsewhere] = row;
    const { email } = await signUp(souk);
    const statuses: number[] = [];
    for (let i = 1; i <= 6; i += 1) {
      // Every second one is for an address that has an account.
      const { page } = await signUp(souk, addressOf(i), i % 2 === 0 ? email : undefined, i % 2);
      statuses.push(page.status);
    }
    expect(statuses).toEqual([200, 409, 200, 409, 200, 429]);
    const { page } = await signUp(souk, addressOf(9));
    expect(Number(page.headers['retry-after'])).toBeGreaterThan(3_000);
    expect((await signUp(souk, elsewhere)).page.path).toBe('/account');
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await souk.clientOf('').raw('/metrics', { headers })).text).toMatch(
      /souk_refusals_total\{code="TOO_MANY_ATTEMPTS"\} [1-9]/,
    );
  });
});

describe('ten wrong operator tokens from one network', () => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  async function guessToken(souk: Souk, address: string): Promise<number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1)
      for (const path of ['/admin', '/admin/queues']) {
        const headers = { ...bearer(`guess-${i}`), 'x-forwarded-for': address };
        statuses.push((await souk.clientOf('').raw(path, { headers })).status);
      }
    return statuses;
  }

  test('block its tokens at the console and the queue board, and no other network', async ({ souk }) => {
    const address = newAddress();
    const operator = browser(souk, address);
    for (const [name, value] of (await staffOf(souk)).visitor.cookies) operator.cookies.set(name, value);
    expect(await guessToken(souk, address)).toEqual(Array(10).fill(401));
    const statusesAt = async (from: string) => {
      const headers = { ...bearer(TOKEN), 'x-forwarded-for': from };
      const pages = ['/admin', '/admin/queues'].map((path) => souk.clientOf('').raw(path, { headers }));
      return (await Promise.all(pages)).map(({ status }) => status);
    };
    expect(await statusesAt(address)).toEqual([429, 429]);
    expect(await statusesAt(newAddress())).toEqual([200, 200]);
    // People who have signed in there are not concerned.
    for (const path of ['/admin', '/admin/queues']) expect((await operator.get(path)).status).toBe(200);
  });
});
