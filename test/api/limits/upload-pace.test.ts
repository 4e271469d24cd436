import { expect } from 'vitest';
import { createUploadPace } from '../../../src/api/limits/upload-limits.ts';
import { TestClock } from '../../support/clock.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { limits: { uploadBytesPerSecond: 10_000 } });

test('delays an upload that exceeds the bytes per second', async ({ souk, client }) => {
  const body = JSON.stringify({ operation: 'market.product', padding: ' '.repeat(20_000) });
  const answer = client.post('/api/batches', body, { headers: { 'content-type': 'application/json' } });
  await souk.clock.until('upload pace');
  expect((await client.get('/api/quota')).status).toBe(200);
  let status = 0;
  void answer.then((reply) => {
    status = reply.status;
  });
  // The body may arrive in several pieces.
  await expect
    .poll(() => {
      souk.clock.advance(1_000);
      return status;
    })
    .toBe(400);
});

test('reads small uploads immediately, and delays later uploads one after the other', async () => {
  const clock = new TestClock();
  const pace = createUploadPace(clock, 1_000);
  await pace.take(50);
  await pace.take(50);
  const order: string[] = [];
  const first = pace.take(1_000).then(() => order.push('first'));
  const second = pace.take(1_000).then(() => order.push('second'));
  clock.advance(1_000);
  await first;
  expect(order).toEqual(['first']);
  clock.advance(1_000);
  await second;
  expect(order).toEqual(['first', 'second']);
});
