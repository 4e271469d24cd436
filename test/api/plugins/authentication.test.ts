import { describe, expect } from 'vitest';
import { hashKey, newKey } from '../../../src/accounts/authentication.ts';
import type { RequestOptions } from '../../support/client.ts';
import type { Souk, TestAccount } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

const PRODUCT = '/api/market/product?domain=1&asins=B00AUTHKEY';

/** Sends a request without a key. */
function send(souk: Souk, path: string, options?: RequestOptions) {
  return souk.clientOf('').raw(path, options);
}

describe('a key', () => {
  test.for<[string, (key: string) => [path: string, headers: Record<string, string | string[]>]]>([
    ['X-API-Key', (key) => [PRODUCT, { 'x-api-key': key }]],
    ['Authorization: Bearer', (key) => [PRODUCT, { authorization: `Bearer ${key}` }]],
    ['Authorization with the scheme in lower case', (key) => [PRODUCT, { authorization: `bearer ${key}` }]],
    ['the key parameter', (key) => [`${PRODUCT}&key=${key}`, {}]],
    [
      'all three places if they have the same key',
      (key) => [`${PRODUCT}&key=${key}`, { 'x-api-key': key, authorization: `Bearer ${key}` }],
    ],
    ['one header, sent twice', (key) => [PRODUCT, { authorization: [`Bearer ${key}`, `Bearer ${key}`] }]],
    [
      'one place alongside an Authorization header of another scheme',
      (key) => [PRODUCT, { 'x-api-key': key, authorization: 'Basic dXNlcjpwYXNz' }],
    ],
  ])('is accepted in %s', async ([_place, request], { souk }) => {
    const { key } = await souk.account();
    const [path, headers] = request(key);
    const reply = await send(souk, path, { headers });
    expect([reply.status, reply.json.code]).toEqual([200, '0000']);
  });
});

describe('returns 401 with code 4001 for', () => {
  test.for<
    [string, (key: string, other: string) => [path: string, headers: Record<string, string | string[]>]]
  >([
    ['no key', () => [PRODUCT, {}]],
    ['an empty key parameter', () => [`${PRODUCT}&key=`, {}]],
    ['an empty bearer token', () => [PRODUCT, { authorization: 'Bearer' }]],
    ['a key without the prefix', (key) => [PRODUCT, { 'x-api-key': key.slice(3) }]],
    ['a key that is too short', (key) => [PRODUCT, { 'x-api-key': key.slice(0, -1) }]],
    ['a key that is too long', (key) => [PRODUCT, { 'x-api-key': `${key}A` }]],
    ['a key with an invalid character', (key) => [PRODUCT, { 'x-api-key': `${key.slice(0, -1)}-` }]],
    ['an unknown key', () => [PRODUCT, { 'x-api-key': newKey() }]],
    [
      'different keys in both headers',
      (key, other) => [PRODUCT, { 'x-api-key': key, authorization: `Bearer ${other}` }],
    ],
    [
      'different keys in header and parameter',
      (key, other) => [`${PRODUCT}&key=${other}`, { 'x-api-key': key }],
    ],
    [
      'different keys in bearer token and parameter',
      (key, other) => [`${PRODUCT}&key=${other}`, { authorization: `Bearer ${key}` }],
    ],
    ['different keys in two key parameters', (key, other) => [`${PRODUCT}&key=${key}&key=${other}`, {}]],
    [
      'different keys in two Authorization headers',
      (key, other) => [PRODUCT, { authorization: [`Bearer ${key}`, `Bearer ${other}`] }],
    ],
    ['a good key alongside a malformed one', (key) => [`${PRODUCT}&key=abc`, { 'x-api-key': key }]],
    ['a good key in another place', (key) => [`${PRODUCT}&api_key=${key}`, { cookie: `key=${key}` }]],
  ])('%s', async ([_what, request], { souk }) => {
    const [{ key }, { key: other }] = await Promise.all([souk.account(), souk.account()]);
    const [path, headers] = request(key, other);
    const reply = await send(souk, path, { headers });
    expect([reply.status, reply.json.code, reply.json.data]).toEqual([401, '4001', null]);
  });
});

describe('returns 403 with code 4003 for', () => {
  const setKey =
    (assignment: string) =>
    ({ database, clock }: Souk, { key }: TestAccount) =>
      database.query(`update api_keys set ${assignment} where hash = $1`, [
        hashKey(key),
        new Date(clock.now()),
      ]);
  const setState =
    (state: string) =>
    ({ database }: Souk, { accountId }: TestAccount) =>
      database.query('update accounts set state = $2::account_state where id = $1', [accountId, state]);

  test.for<[string, (souk: Souk, account: TestAccount) => Promise<unknown>]>([
    ['a revoked key', setKey('revoked_at = $2')],
    ['a key of a disabled account', setState('disabled')],
    ['a key of an unavailable account', setState('unavailable')],
    ['a rotated key that has just expired', setKey('expires_at = $2')],
  ])('%s, on charged and free paths', async ([_what, spoil], { souk, account, client }) => {
    await spoil(souk, account);
    for (const path of [PRODUCT, '/api/quota', '/api/market/product?domain=99']) {
      const reply = await client.get(path);
      expect([path, reply.status, reply.json.code]).toEqual([path, 403, '4003']);
    }
  });

  test('a rotated key, from the time it expires', async ({ souk, client }) => {
    await souk.database.query('update api_keys set expires_at = $2 where hash = $1', [
      hashKey(client.key),
      new Date(souk.clock.now() + 1),
    ]);
    expect((await client.get(PRODUCT)).status).toBe(200);
    souk.clock.advance(1);
    expect((await client.get(PRODUCT)).status).toBe(403);
  });
});

test('a key without a subscription gets 429 QUOTA_NO_SUBSCRIPTION, and free operations', async ({ souk }) => {
  const client = await souk.client({ plan: null });
  const refused = await client.get(PRODUCT);
  expect([refused.status, refused.json.code]).toEqual([429, 'QUOTA_NO_SUBSCRIPTION']);
  const free = await client.get('/api/market/charturl?domain=1&asin=B00AUTHKEY');
  expect(free.status).toBe(200);
});

test.for([
  ['an unknown key', { 'x-api-key': newKey() }],
  ['no key', {}],
] as const)('returns 401 for bad parameters with %s', async ([_what, headers], { souk }) => {
  for (const path of ['/api/market/product?domain=99', '/api/market/charturl?domain=99']) {
    const reply = await send(souk, path, { headers });
    expect([reply.status, reply.json.code]).toEqual([401, '4001']);
  }
});
