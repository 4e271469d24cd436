import { expect } from 'vitest';
import { createUploadTurns } from '../../../src/api/limits/upload-limits.ts';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { batchQueueOf } from '../../support/schedules.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { limits: { uploadBytesPerMinute: 150_000 } });

function dryRun(client: Client, bytes: number) {
  const batch = { operation: 'market.product', params: { domain: 1 }, split: { asins: [newAsin()] } };
  const body = JSON.stringify(batch).padEnd(bytes, ' ');
  return client.post('/api/batches?dryRun=1', body, { headers: { 'content-type': 'application/json' } });
}

test('refuses an upload of an account that has reached its bytes per minute, and accepts one of another account', async ({
  souk,
  client,
}) => {
  expect((await dryRun(client, 100_000)).status).toBe(200);
  expect((await dryRun(client, 50_000)).status).toBe(200);
  const refused = await dryRun(client, 1_000);
  expect([refused.status, refused.json.code, refused.json.metadata]).toEqual([
    429,
    'TOO_MANY_REQUESTS',
    { limit: 150_000, seconds: 60 },
  ]);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  const other = await souk.client();
  expect((await dryRun(other, 1_000)).status).toBe(200);
});

test('an upload that is refused for its body counts', async ({ client }) => {
  const body = '{'.padEnd(150_000, ' ');
  const headers = { 'content-type': 'application/json' };
  expect((await client.post('/api/batches', body, { headers })).status).toBe(400);
  expect((await client.post('/api/batches', body, { headers })).status).toBe(429);
});

test('reads the upload of an account that has sent few bytes before the waiting uploads of an account that has sent many', async ({
  openAnother,
}) => {
  const souk = await openAnother({ workers: 0, limits: { uploadBytesPerMinute: 150_000 } });
  const queue = batchQueueOf(souk);
  const waiting = async () => (await queue.getJobs(['waiting', 'prioritized'], 0, -1, true)).length;
  const busy = await souk.account();
  const answers = [];
  for (let sent = 1; sent <= 2; sent += 1) {
    answers.push(dryRun(souk.clientOf(busy.key), 70_000));
    await expect.poll(waiting).toBe(sent);
  }
  const other = await souk.account();
  answers.push(dryRun(souk.clientOf(other.key), 1_000));
  await expect.poll(waiting).toBe(3);
  const order = await queue.getJobs(['waiting', 'prioritized'], 0, -1, true);
  const priorities = new Map(order.map(({ data, opts }) => [`${data.accountId} ${opts.priority}`, data]));
  expect([...priorities.keys()].sort()).toEqual(
    [`${busy.accountId} 1`, `${busy.accountId} 2`, `${other.accountId} 0`].sort(),
  );
  souk.clock.advance(60_000);
  await Promise.all(answers);
});

test('counts the bytes of an account over all gateways', async ({ souk, redis }) => {
  const keys = redisKeys(`${souk.redisNamespace}-turns`);
  const [first, second] = [createUploadTurns(redis, keys, 1_000), createUploadTurns(redis, keys, 1_000)];
  expect(await first.take(1, 1_000)).toBe(0);
  await expect(second.require(1)).rejects.toMatchObject({ kind: 'TOO_MANY_REQUESTS' });
  await second.require(2);
});
