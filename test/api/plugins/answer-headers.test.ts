import { describe, expect } from 'vitest';
import { PRIVATE_ANSWER } from '../../../src/api/plugins/requests.ts';
import { test } from '../../support/shared-souk-test.ts';

describe('answers of the API', () => {
  const PATHS = [
    ['a cached answer', '/api/market/product?country=us&asins=B0GOOD0001', 200],
    ['an operation of the gateway', '/api/quota', 200],
    ['a list', '/api/jobs', 200],
    ['a refused parameter', '/api/market/product?country=us', 400],
    ['an unknown address', '/api/nothing', 404],
    ['a malformed address', '/api/%c0%ae', 400],
    ['an address that takes another method', '/api/webhooks/test', 405],
  ] as const;

  test.for(PATHS)('%s has private cache headers', async ([, path, status], { client }) => {
    const reply = await client.get(path);
    expect([reply.status, reply.headers]).toEqual([status, expect.objectContaining(PRIVATE_ANSWER)]);
  });

  test('refusals of a key have private cache headers', async ({ client }) => {
    const reply = await client.raw('/api/quota');
    expect([reply.status, reply.headers]).toEqual([401, expect.objectContaining(PRIVATE_ANSWER)]);
  });

  test('answers and errors of tools have private cache headers', async ({ client }) => {
    const headers = { accept: 'application/json, text/event-stream' };
    for (const method of ['tools/list', 'no/such'])
      for (const key of [client.key, ''])
        expect(
          (
            await client.raw('/mcp', {
              method: 'POST',
              headers: { ...headers, 'x-api-key': key },
              body: { jsonrpc: '2.0', id: 1, method },
            })
          ).headers,
        ).toMatchObject(PRIVATE_ANSWER);
  });

  test('an event stream has private cache headers', async ({ client }) => {
    const job = await client.get('/api/market/product?country=us&asins=B0GOOD0002&async=1');
    const reply = await client.get(`/api/jobs/${job.json.data.jobId}/events`);
    expect(reply.headers).toMatchObject(PRIVATE_ANSWER);
  });
});

test('an installation without an https address sends no Strict-Transport-Security', async ({ client }) => {
  expect((await client.raw('/')).headers).not.toHaveProperty('strict-transport-security');
});
