import { Readable } from 'node:stream';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { holdProducts, newAsin } from '../../support/answers.ts';
import { listen } from '../../support/events.ts';
import { sendRaw } from '../../support/raw-request.ts';
import { test } from '../../support/souk-test.ts';

const PIECE = ' '.repeat(300_000);

test.override('soukOptions', { limits: { waiting: 2, streams: 1, uploads: 1, uploadBytes: 17_000_000 } });

const product = () => `/api/market/product?domain=1&asins=${newAsin()}`;

test('refuses a third waiting call of an account, not of others', async ({ souk, client, upstream }) => {
  const release = holdProducts(upstream);
  const waiting = [1, 2].map(() => client.get(product()));
  await upstream.received(2, 'product');
  const refused = await client.get(product());
  expect([refused.status, refused.json.code, refused.headers['retry-after']]).toEqual([
    429,
    'TOO_MANY_OPEN',
    '1',
  ]);
  const other = await souk.client();
  expect((await other.get('/api/quota')).status).toBe(200);
  release();
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await client.get(product())).status).toBe(200);
});

test('refuses a second event stream of an account', async ({ client, upstream }) => {
  const release = holdProducts(upstream);
  const job = (await client.get(`${product()}&async=1`)).json.data.links.self as string;
  const stream = await listen(client, `${job}/events`);
  const second = await client.get(`${job}/events`);
  expect([second.status, second.json.code]).toEqual([429, 'TOO_MANY_OPEN']);
  release();
  await stream.ended;
  const third = await listen(client, `${job}/events`);
  expect(third.status).toBe(200);
  await third.ended;
});

test('refuses a second upload of an account before its body arrives', async ({ souk, client }) => {
  const headers = (key: string) => ({
    'x-api-key': key,
    'content-type': 'application/json',
    'content-length': 1_000_000,
  });
  const first = sendRaw(client.baseUrl, { path: '/api/batches', headers: headers(client.key), body: PIECE });
  const redis = new Redis(souk.redisUrl);
  const stored = () => redis.keys(`${souk.redisNamespace}:*upload*`);
  await expect.poll(async () => (await stored()).length).toBe(1);
  const second = sendRaw(client.baseUrl, { path: '/api/batches', headers: headers(client.key) });
  expect(await second.response).toMatchObject({
    status: 429,
    text: expect.stringContaining('TOO_MANY_OPEN'),
  });
  // A body that ends early leaves nothing behind.
  first.response.catch(() => {});
  first.socket.destroy();
  await expect.poll(stored).toEqual([]);
  second.socket.destroy();
  redis.disconnect();
});

test('refuses an upload beyond the bytes of the process before its body arrives', async ({ souk }) => {
  const [one, two] = [await souk.client(), await souk.client()];
  const send = (key: string, body = '') =>
    sendRaw(one.baseUrl, {
      path: '/api/batches',
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'content-length': 16_000_000 },
      body,
    });
  const redis = new Redis(souk.redisUrl);
  const first = send(one.key, PIECE);
  first.response.catch(() => {});
  await expect.poll(async () => (await redis.keys(`${souk.redisNamespace}:*upload*`)).length).toBe(1);
  const second = send(two.key);
  expect((await second.response).status).toBe(429);
  for (const { socket } of [first, second]) socket.destroy();
  redis.disconnect();
});

test('refuses an upload without Content-Length above 16 MiB, and stores none', async ({ souk, client }) => {
  const piece = Buffer.alloc(1024 * 1024, ' ');
  const reply = await fetch(`${client.baseUrl}/api/batches`, {
    method: 'POST',
    headers: { 'x-api-key': client.key, 'content-type': 'application/json' },
    body: Readable.from(Array.from({ length: 17 }, () => piece)),
    duplex: 'half',
  } as unknown as RequestInit);
  expect(reply.status).toBe(413);
  const redis = new Redis(souk.redisUrl);
  expect(await redis.keys(`${souk.redisNamespace}:*upload*`)).toEqual([]);
  redis.disconnect();
});
