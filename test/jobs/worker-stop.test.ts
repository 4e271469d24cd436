import { expect } from 'vitest';
import { reportAlive } from '../../jobs/backlog.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { holdProducts } from '../support/answers.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

const PATH = '/api/market/product?domain=1&asins=B0STOP0001,B0STOP0002,B0STOP0003';

test('a job that a stopping worker hands back runs on another worker and is charged once', async ({
  ownSouk: souk,
}) => {
  const client = await souk.client();
  const open = holdProducts(souk.upstream);
  const reply = client.get(PATH);
  await souk.upstream.received(1, 'product');
  const [stopping] = souk.workers.splice(0);
  await souk.addWorker();
  const stopped = stopping?.close();
  await souk.clock.until('market worker grace');
  souk.clock.advance(10_000);
  await souk.upstream.abandoned(1);
  await stopped;
  open();
  const { status, headers } = await reply;
  expect(status).toBe(200);
  expect(headers['x-units-consumed']).toBe('3');
  expect(souk.upstream.callsTo('product')).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(3);
  const { rows } = await souk.database.query('select kind, units from ledger order by id');
  expect(rows).toEqual([
    { kind: 'reserve', units: 3 },
    { kind: 'settle', units: 3 },
  ]);
});

test('a worker that stops finishes a job that ends within the grace period', async ({ ownSouk: souk }) => {
  const client = await souk.client();
  const open = holdProducts(souk.upstream);
  const reply = client.get(PATH);
  await souk.upstream.received(1, 'product');
  const [stopping] = souk.workers.splice(0);
  const stopped = stopping?.close();
  open();
  expect((await reply).status).toBe(200);
  await stopped;
  expect(souk.upstream.callsTo('product')).toHaveLength(1);
});

test('a job that was cancelled while it ran is not run again after the death of its worker', async ({
  ownSouk: souk,
  redis,
}) => {
  const client = await souk.client();
  const keys = redisKeys(souk.redisNamespace);
  const [stopping] = souk.workers.splice(0);
  await stopping?.close();
  // The report of a worker outlives it.
  await reportAlive(redis, keys, 'market', 'dead', souk.clock.now());
  const accepted = await client.get(PATH, { headers: { prefer: 'respond-async' } });
  const callId = accepted.json.data.jobId;
  // It had begun the job when the job was cancelled. No process that runs now has received that.
  const [job] = (await redis.keys(`*:${callId}`)).filter((key) => key.includes(keys.queuePrefix('market')));
  await redis.hset(job as string, 'ats', 1);
  await redis.set(keys.cancelled(callId), 1);
  const ended = souk.events.next('call.released');
  await souk.addWorker();
  expect((await ended).error).toBe('CANCELLED');
  expect(souk.upstream.callsTo('product')).toEqual([]);
  expect(await unitsUsed(client)).toBe(0);
});
