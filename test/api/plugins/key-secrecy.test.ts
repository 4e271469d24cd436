import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { drawsPictures, hasDeals, knowsEveryProduct } from '../../support/answers.ts';
import type { Client, Reply } from '../../support/client.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { type Souk, UPSTREAM_KEY } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { advanceUntil } from '../../support/time.ts';
import { words } from '../../support/words.ts';

/** Sends the key in all places, with good and bad requests. */
async function useEverywhere({ key, raw }: Client): Promise<Reply[]> {
  const encoded = `%${key.charCodeAt(0).toString(16)}${key.slice(1)}`;
  const requests: Parameters<typeof raw>[] = [
    ['/api/market/product?domain=1&asins=B00SECRET1', { headers: { 'x-api-key': key } }],
    ['/api/market/product?domain=1&asins=B00SECRET2', { headers: { authorization: `Bearer ${key}` } }],
    [`/api/market/product?domain=1&asins=B00SECRET3&key=${key}`],
    [`/api/market/product?domain=1&asins=B00SECRET4&k%65y=${encoded}`],
    [`/api/market/lightningdeal?domain=1&asin=B00SECRET5&key=${key}`],
    [`/api/market/graphimage?domain=1&asin=B00SECRET6&key=${key}&KEY=${key}`],
    [`/api/market/product?domain=1&asins=${key}&key=${key}`],
    [`/api/market/charturl?domain=1&asin=B00SECRET7&key=${key}`],
    [`/api/quota?key=${encoded}`],
    [`/api/nowhere?key=${key}`],
    [`/api/%zz?key=${key}`],
    [`/api/%zz?key=${encoded}`],
    [`/api/market/product?key=${key}`, { method: 'PUT' }],
    [`/api/market/product?key=${key}`, { method: 'POST', body: { domain: 1, asins: ['B00SECRET8'] } }],
    [`/api/market/product?key=${key}`, { method: 'POST', body: { domain: 1, asins: ['B00SECRET8'], key } }],
    [`/api/market/product?key=${key}`, { method: 'POST', body: `{"key":"${key}` }],
  ];
  return Promise.all(requests.map((request) => raw(...request)));
}

/** Returns all data of the service in Redis, as one text. */
async function everythingInRedis(souk: Souk, redis: Redis): Promise<string> {
  const keys = await redis.keys(`*${souk.redisNamespace}*`);
  const values = await Promise.all(
    keys.map(async (key) => {
      switch (await redis.type(key)) {
        case 'string':
          return redis.get(key);
        case 'hash':
          return JSON.stringify(await redis.hgetall(key));
        case 'list':
          return (await redis.lrange(key, 0, -1)).join();
        case 'set':
          return (await redis.smembers(key)).join();
        case 'zset':
          return (await redis.zrange(key, '0', '-1')).join();
        case 'stream':
          return JSON.stringify(await redis.xrange(key, '-', '+'));
        default:
          return '';
      }
    }),
  );
  return [...keys, ...values].join('\n');
}

test("logs, stores and upstream calls never hold a customer's key", async ({ souk, redis }) => {
  const client = await souk.client();
  const secret = client.key.slice(3);
  const working = gate();
  souk.upstream.on('product', async (call, response) => {
    await working.reached;
    return knowsEveryProduct(call, response);
  });
  souk.upstream.on('lightningdeal', hasDeals([]));
  souk.upstream.on('graphimage', drawsPictures);
  const replies = useEverywhere(client);
  await souk.upstream.received(5, 'product');

  const during = await everythingInRedis(souk, redis);
  expect(during).toContain('B00SECRET1');
  expect(during).not.toContain(secret);

  working.open();
  for (const reply of await replies) expect(reply.status).toBeLessThan(500);
  expect(await everythingInRedis(souk, redis)).not.toContain(secret);
  expect(JSON.stringify(souk.upstream.calls)).not.toContain(secret);
  const { rows } = await souk.database.query(
    `select to_jsonb(a)::text || to_jsonb(k)::text || coalesce(to_jsonb(c)::text, '') as text
     from accounts a join api_keys k on k.account_id = a.id left join calls c on c.account_id = a.id`,
  );
  expect(JSON.stringify(rows)).not.toContain(secret);
  const log = souk.logLines.join('');
  expect(log).toContain('/api/market/product');
  expect(log).not.toContain(secret);
});

test('logs hold no token of a link', async ({ souk }) => {
  const client = await souk.client();
  const token = 'T'.repeat(43);
  const paths = [
    `/files/${token}/table.csv`,
    `/charts/${token}`,
    `/invitation?token=${token}`,
    `/sign-in?to=${encodeURIComponent(`/invitation?token=${token}`)}`,
    `/sign-in/openid/callback?code=${token}`,
  ];
  for (const path of paths) expect((await client.raw(path)).status, path).toBeLessThan(500);
  const log = souk.logLines.join('');
  for (const path of words('/files /charts /invitation /sign-in /sign-in/openid/callback'))
    expect(log).toContain(`"path":"${path}"`);
  expect(log).not.toContain(token);
});

test('logs and answers hold no upstream key, even if upstream returns it', async ({ souk, redis }) => {
  const client = await souk.client();
  const calls = souk.upstream.callsTo('product');
  souk.upstream.on('product', ({ params }, response) => {
    const echo = `https://provider.test/product?key=${params.key}&asin=${params.asin}`;
    const error = { type: 'invalidParameter', message: `Wrong parameter in ${echo}`, details: params.key };
    switch (params.asin) {
      case 'B00ECHO400':
        return { status: 400, json: { error, refillRate: 0, tokensLeft: 0, refillIn: 0 } };
      case 'B00ECHO402':
        return { status: 402, json: { error } };
      case 'B00ECHO200':
        return { json: { error } };
      case 'B00ECHOKEY':
        return { status: 400, json: { error: { type: params.key, message: `${params.key} is no key` } } };
      case 'B00MOVED00':
        return { status: 302, raw: '', headers: { location: echo } };
      case 'B00HANGUP0':
        response.destroy();
        return 'handled';
      default:
        return { status: 500, raw: `Fault at ${echo}`, contentType: 'text/html' };
    }
  });
  const asins = 'B00ECHOKEY B00ECHO400 B00ECHO402 B00ECHO200 B00MOVED00 B00HANGUP0 B00ECHO500'.split(' ');
  const before = calls.length;
  let ended = 0;
  const replies = Promise.all(
    asins.map((asin) =>
      client.get(`/api/market/product?domain=1&asins=${asin}`).finally(() => {
        ended += 1;
      }),
    ),
  );
  await advanceUntil(souk.clock, () => ended === asins.length, 50);
  for (const reply of await replies) {
    expect([reply.status, reply.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
    expect(`${JSON.stringify(reply.headers)}${reply.body.toString()}`).not.toContain(UPSTREAM_KEY);
  }
  // Every upstream call had the key, so a leak was possible.
  const keys = souk.upstream
    .callsTo('product')
    .slice(before)
    .map(({ params }) => params.key);
  expect(new Set(keys)).toEqual(new Set([UPSTREAM_KEY]));
  expect(souk.logLines.join('')).not.toContain(UPSTREAM_KEY);
  expect(await everythingInRedis(souk, redis)).not.toContain(UPSTREAM_KEY);
});
