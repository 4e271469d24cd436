import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createRunTimes, readMeanDuration } from '../../jobs/backlog.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { TestClock } from '../support/clock.ts';

function openWorker() {
  const redis = new Redis(inject('redisUrl'));
  const keys = redisKeys(`test-${randomUUID()}`);
  const clock = new TestClock();
  const runTimes = createRunTimes({ redis, keys, clock, log: createLogger('silent') });
  onTestFinished(async () => {
    await runTimes.close();
    redis.disconnect();
  });
  const job = { callId: randomUUID(), accountId: 1, operation: 'market.product', error: null } as const;
  return {
    clock,
    ended: (durationMs: number) =>
      runTimes.onEvent({ type: 'job.ended', ...job, pool: 'market', state: 'settled', durationMs }),
    mean: (pool: string) => readMeanDuration(redis, keys, pool),
  };
}

test('reports the run time of the first job immediately, and of no other pool', async () => {
  const { ended, mean } = openWorker();
  expect(await mean('market')).toBeNull();
  ended(8_000);
  await expect.poll(() => mean('market')).toBe(8_000);
  expect(await mean('graph')).toBeNull();
});

test('reports a mean in which a job has a weight of a tenth', async () => {
  const { clock, ended, mean } = openWorker();
  ended(8_000);
  await expect.poll(() => mean('market')).toBe(8_000);
  ended(1_000);
  expect(await mean('market')).toBe(8_000);
  clock.advance(3_000);
  await expect.poll(() => mean('market')).toBe(7_300);
});
