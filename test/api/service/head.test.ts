import { expect } from 'vitest';
import { test } from '../../support/souk-test.ts';
import { words } from '../../support/words.ts';

test.override('soukOptions', { workers: 0 });

test.for(
  words(`
  /healthz /readyz /openapi.json /docs /docs/api / /sign-in /api/quota /api/token /api/aba/countries
  /api/market/charturl?domain=1&asin=B000000001 /api/retail/imageurl?domain=1&image=a.jpg /api/jobs
  /api/batches /api/schedules /api/trackers /api/usage
`),
)('answers HEAD %s as GET, without a body', async (path, { client }) => {
  const get = await client.get(path);
  const head = await client.get(path, { method: 'HEAD' });
  expect([get.status, head.status, head.body.length]).toEqual([200, 200, 0]);
  expect(head.headers['content-type']).toBe(get.headers['content-type']);
});

test.for([
  '/api/market/bestseller?domain=1&category=1',
  '/api/jobs/0198c0de-0000-7000-8000-000000000000/events',
])('refuses HEAD %s, which would cost units or read a stream', async (path, { client }) => {
  expect((await client.get(path, { method: 'HEAD' })).status).toBe(405);
});

test.for(['/openapi.json', '/docs', '/docs/api', '/'])(
  'compresses %s for a client that accepts gzip',
  async (path, { client }) => {
    const plain = await client.get(path);
    const gzip = await client.get(path, { headers: { 'accept-encoding': 'gzip' } });
    expect([plain.headers['content-encoding'], gzip.headers['content-encoding']]).toEqual([
      undefined,
      'gzip',
    ]);
    expect(gzip.body.length).toBeLessThan(plain.body.length / 2);
    expect(gzip.headers.vary).toMatch(/accept-encoding/i);
  },
);

test('refuses HEAD without a key where GET needs one', async ({ client }) => {
  expect((await client.raw('/api/quota', { method: 'HEAD' })).status).toBe(401);
});
