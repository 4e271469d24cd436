import { expect } from 'vitest';
import { countAlive, reportAlive } from '../../jobs/backlog.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { newAsin } from '../support/answers.ts';
import { type OwnServers, openOwnServers } from '../support/own-servers.ts';
import { test as base } from '../support/souk-test.ts';
import { loseRedis } from '../support/workers.ts';

// The time of the service stands still, so no process does anything because it is due.
const test = base
  .extend('servers', { scope: 'file' }, async ({}, { onCleanup }): Promise<OwnServers> => {
    const servers = await openOwnServers();
    onCleanup(() => servers.close());
    return servers;
  })
  .override('soukOptions', ({ servers }) => ({ servers }));

const product = () => `/api/market/product?domain=1&asins=${newAsin()}`;

test('a worker reports that it serves its pools as soon as Redis has come back without its data', async ({
  souk,
  servers,
  redis,
  client,
}) => {
  redis.on('error', () => {});
  expect((await client.get(product())).status).toBe(200);
  await servers.killRedis();
  await servers.restartRedis();
  const keys = redisKeys(souk.redisNamespace);
  await expect.poll(() => countAlive(redis, keys, 'market', souk.clock.now())).toBe(1);
  await expect.poll(async () => (await client.get(product())).status).toBe(200);
});

test('a gateway that has refused a call for lack of a worker admits the next one after a worker has reported', async ({
  souk,
  redis,
  client,
}) => {
  const keys = redisKeys(souk.redisNamespace);
  expect(await loseRedis(souk, keys.workers('market'))).toBe(1);
  await souk.gateways[0]?.sampleBacklog();
  const refused = await client.get(product());
  expect([refused.status, refused.json.code]).toEqual([503, 'BUSY']);
  await reportAlive(redis, keys, 'market', 'a worker', souk.clock.now());
  expect((await client.get(product())).status).toBe(200);
});
