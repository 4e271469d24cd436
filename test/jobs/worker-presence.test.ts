import { expect } from 'vitest';
import { countAlive, WORKER_LIFETIME_MS } from '../../jobs/backlog.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

const PRODUCT = '/api/market/product?domain=1&asins=';
const keysOf = ({ redisNamespace }: Souk) => redisKeys(redisNamespace);

test('a worker whose report has expired is alive again as soon as it reports', async ({
  souk,
  account,
  redis,
}) => {
  // The timer of the report runs at its own time, so the report is old when Redis has it.
  souk.clock.advance(4 * WORKER_LIFETIME_MS);
  await expect.poll(() => countAlive(redis, keysOf(souk), 'market', souk.clock.now())).toBe(1);
  await souk.addGateway();
  const reply = await souk.clientOf(account.key, 1).get(`${PRODUCT}B0PRESENT1`);
  expect([reply.status, reply.json.code]).toEqual([200, '0000']);
});

test('the report of a worker expires by the clock of the service, not by that of Redis', async ({
  souk,
  redis,
}) => {
  expect(await redis.pttl(keysOf(souk).workers('market'))).toBe(-1);
});
