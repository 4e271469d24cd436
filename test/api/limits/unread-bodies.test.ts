import { expect } from 'vitest';
import { hashKey, newKey } from '../../../src/accounts/authentication.ts';
import { CALLER_JSON_LIMITS } from '../../../src/platform/caller-json.ts';
import { sendRaw } from '../../support/raw-request.ts';
import { test } from '../../support/shared-souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const FINDER = '/api/market/productfinder';

test.for([
  ['a call', FINDER],
  ['a free endpoint', '/api/schedules'],
  ['an upload', '/api/batches'],
  ['the tools for agents', '/mcp'],
])('returns 401 to an unknown key before the body of %s arrives', async ([, path], { client }) => {
  const headers = { 'x-api-key': newKey(), 'content-type': 'application/json', 'content-length': 50_000 };
  const { socket, response } = sendRaw(client.baseUrl, { path: path as string, headers });
  expect((await response).status).toBe(401);
  socket.destroy();
});

test('returns 403 to a key that was revoked after its first call', async ({ souk, client }) => {
  const path = '/api/market/product?domain=1&asins=B00REVOKED';
  expect((await client.get(path)).status).toBe(200);
  await souk.database.query('update api_keys set revoked_at = now() where hash = $1', [hashKey(client.key)]);
  expect((await client.get(path)).status).toBe(403);
  expect((await client.get('/api/market/product?domain=99')).status).toBe(403);
});

test.for<[string, string, string]>([
  [
    'more than 1,000 fields',
    JSON.stringify(Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`f${i}`, 1]))),
    `has an object with more than ${CALLER_JSON_LIMITS.fieldsOfObject} fields`,
  ],
  ['30,000 levels', '['.repeat(30_000), `is nested more than ${CALLER_JSON_LIMITS.levels} levels deep`],
  [
    'a number of 60,000 digits',
    `{"domain":1,"current_SALES_lte":${'9'.repeat(60_000)}}`,
    'has a number with too many digits',
  ],
  ['a number of 60,000 digits alone', '1'.repeat(60_000), 'has a number with too many digits'],
])('refuses a body with %s, and charges nothing', async ([, body, problem], { client }) => {
  for (const path of [FINDER, '/api/market/deal']) {
    const reply = await client.post(path, body, { headers: { 'content-type': 'application/json' } });
    expect([reply.status, reply.json.metadata?.errors]).toEqual([400, [{ parameter: 'body', problem }]]);
  }
  expect(await unitsUsed(client)).toBe(0);
});

test('refuses a selection in the query with more than 20 levels', async ({ client }) => {
  const selection = encodeURIComponent(`{"a":${'['.repeat(30)}${']'.repeat(30)}}`);
  const reply = await client.get(`${FINDER}?selection=${selection}`);
  expect([reply.status, reply.json.msg]).toEqual([
    400,
    `selection: is nested more than ${CALLER_JSON_LIMITS.levels} levels deep`,
  ]);
});
