import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { test } from '../../support/souk-test.ts';

/** Requests that an account may send within five seconds. */
const LIMIT = 5;

test.override('soukOptions', { gateways: 2, limits: { freePerSecond: LIMIT / 5 } });

const many = (client: Client, path: string) =>
  Promise.all(Array.from({ length: 3 * LIMIT }, () => client.get(path)));

test.for([
  ['quotes', '/api/market/product?domain=1&asins=B00FREEREQ&dryRun=1'],
  ['requests that are refused', '/api/market/product?domain=99'],
  ['lists', '/api/jobs'],
])('limits %s of one account, and not those of another', async ([, path], { souk, client }) => {
  // Sends more requests at the same time than two windows allow, because a second window may begin on a slow machine.
  const replies = (await Promise.all([many(client, path as string), many(client, path as string)])).flat();
  const limited = replies.filter(({ status }) => status === 429);
  const refusedLater = path?.includes('domain=99') ? await client.get('/api/jobs') : null;
  const refusal = limited[0] ?? refusedLater;
  expect(refusal?.json).toMatchObject({ code: 'TOO_MANY_REQUESTS', metadata: { limit: LIMIT, seconds: 5 } });
  expect(Number(refusal?.headers['retry-after'])).toBeGreaterThan(0);
  const other = await souk.client();
  expect((await other.get('/api/jobs')).status).toBe(200);
});

test('beyond the limit of free requests answers the quota tool, and refuses others', async ({ client }) => {
  const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });
  const headers = { accept: 'application/json, text/event-stream' };
  const send = (name: string) =>
    Promise.all(Array.from({ length: 3 * LIMIT }, () => client.post('/mcp', call(name), { headers })));
  const others = await send('jobs_list');
  expect(others.map(({ status }) => status)).toContain(429);
  const replies = await send('market_get_quota');
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(replies[0]?.text).toContain('activeBillingTrack');
});

test('counts over all gateways', async ({ souk, account }) => {
  await many(souk.clientOf(account.key, 0), '/api/jobs');
  const reply = await souk.clientOf(account.key, 1).get('/api/jobs');
  expect(reply.json.code).toBe('TOO_MANY_REQUESTS');
});

test('counts joined calls, and never a call that was charged', async ({ client }) => {
  // Until the provider's tokens are known, only a few calls are sent at the same time.
  await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  const charged = await Promise.all(
    Array.from({ length: 3 * LIMIT }, () => client.get(`/api/market/product?domain=1&asins=${newAsin()}`)),
  );
  expect(charged.map(({ status }) => status)).toEqual(charged.map(() => 200));
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  await many(client, path);
  expect((await client.get(path)).json.code).toBe('TOO_MANY_REQUESTS');
});

test('counts each message of a list to the tools', async ({ client }) => {
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
  const headers = { accept: 'application/json, text/event-stream' };
  const send = (messages: number) =>
    client.post(
      '/mcp',
      Array.from({ length: messages }, (_, i) => ping(i)),
      { headers },
    );
  expect((await send(2 * LIMIT)).json.code).toBe('TOO_MANY_REQUESTS');
});
