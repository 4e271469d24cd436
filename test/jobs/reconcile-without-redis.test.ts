import { expect, inject } from 'vitest';
import { openProxy } from '../support/proxy.ts';
import { test as base } from '../support/souk-test.ts';
import { stopWorkers } from '../support/workers.ts';

const test = base
  .extend('redisProxy', { scope: 'file' }, async ({ database: _ }, { onCleanup }) => {
    const proxy = await openProxy(inject('redisUrl'));
    onCleanup(() => proxy.close());
    return proxy;
  })
  .override('soukOptions', ({ database, redisProxy }) => ({
    servers: { databaseUrl: database.options.connectionString ?? '', redisUrl: redisProxy.url },
  }));

test('a gateway releases overdue calls without a worker and without Redis', async ({ souk, redisProxy }) => {
  const { accountId, key } = await souk.account({ plan: { dailyLimit: 10 } });
  const client = souk.clientOf(key);
  await stopWorkers(souk);
  const { status } = await client.get('/api/market/product?domain=1&asins=B0AWAY0001,B0AWAY0002&async=1');
  expect(status).toBe(202);
  await redisProxy.cut();
  souk.clock.advance(3_600_000);
  const { callId } = await souk.events.until('call.released');
  const { rows } = await souk.database.query<{ state: string; used: number }>(
    `select c.state::text, s.day_used as used from calls c join subscriptions s on s.account_id = c.account_id
     where c.account_id = $1 and c.id = $2`,
    [accountId, callId],
  );
  expect(rows).toEqual([{ state: 'released', used: 0 }]);
  await redisProxy.restore();
});
