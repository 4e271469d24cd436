import { afterAll, expect, test } from 'vitest';
import { newAsin } from './answers.ts';
import { createSharedSouk } from './shared-souk.ts';

const shared = createSharedSouk();
afterAll(() => shared.close());

test('hands a service on without its cache, its recorded calls and its scripts', async () => {
  const souk = await shared.take();
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  expect((await (await souk.client()).get(path)).headers['x-cache']).toBe('MISS');
  souk.upstream.on('product', () => ({ status: 500, json: {} }));
  await shared.giveBack();
  const again = await shared.take();
  expect(again).toBe(souk);
  expect([souk.upstream.calls, souk.logLines, souk.events.seen('call.settled')]).toEqual([[], [], []]);
  const reply = await (await again.client()).get(path);
  expect([reply.status, reply.headers['x-cache']]).toEqual([200, 'MISS']);
  await shared.giveBack();
});

test('replaces a service whose clock was moved, whose file has failed, or that has unfinished work', async () => {
  const first = await shared.take();
  first.clock.advance(1);
  await shared.giveBack();
  const second = await shared.take();
  expect(second).not.toBe(first);
  shared.broken();
  await shared.giveBack();
  const third = await shared.take();
  expect(third).not.toBe(second);
  const { key } = await third.account();
  const cron = {
    name: 'Daily',
    cron: '0 0 * * *',
    batch: { operation: 'market.product', params: { domain: 1 }, split: { asins: [newAsin()] } },
  };
  expect((await third.clientOf(key).post('/api/schedules', cron)).status).toBe(201);
  await shared.giveBack();
  expect(await shared.take()).not.toBe(third);
  await shared.giveBack();
});
