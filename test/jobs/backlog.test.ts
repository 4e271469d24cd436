import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import {
  type Backlog,
  createRunTimes,
  openBacklog,
  readMeanDuration,
  reportAlive,
} from '../../jobs/backlog.ts';
import type { CompletionMessage } from '../../jobs/end-call.ts';
import type { Payload } from '../../jobs/payload.ts';
import { addJob, BACKGROUND_PRIORITY, openQueues, type Queues } from '../../jobs/queues.ts';
import { POOLS } from '../../src/operations/pools.ts';
import { createLogger } from '../../src/platform/log.ts';
import { type RedisKeys, redisKeys } from '../../src/platform/redis-keys.ts';
import { TestClock } from '../support/clock.ts';

const log = createLogger('silent');
const clock = new TestClock();
let redis: Redis;
let keys: RedisKeys;
let queues: Queues;
let backlog: Backlog;
let tell: (message: CompletionMessage) => void;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: null });
});
afterAll(() => redis.quit());
beforeEach(async () => {
  keys = redisKeys(`test-${randomUUID()}`);
  queues = openQueues(redis, keys, log);
  const onEnded = (listener: typeof tell) => {
    tell = listener;
  };
  backlog = await openBacklog({ redis, keys, queues, clock, log, onEnded });
  await reportAlive(redis, keys, 'market', 'a worker', clock.now());
  return async () => {
    await backlog.close();
    await queues.close();
  };
});

/** Queues jobs of these priorities. */
async function queue(...priorities: number[]): Promise<void> {
  for (const priority of priorities) {
    const payload: Payload = {
      version: 1,
      callId: uuid(),
      accountId: 1,
      operation: 'market.product',
      input: {},
      unitsReserved: 1,
      unitsPaid: 0,
      deadlineAt: clock.now() + 1_000,
      background: priority === BACKGROUND_PRIORITY,
    };
    await addJob(queues, 'market', payload, priority);
  }
  await backlog.sample();
}

function ended(durationMs: number | null): void {
  const released = { state: 'released', unitsCharged: 0, error: null } as const;
  tell({ callId: uuid(), pool: 'market', durationMs, ...released });
}

/** Returns the number of jobs before one of this priority, computed from the estimated wait. */
async function ahead(priority: number): Promise<number> {
  const waitMs = await backlog.estimateWaitMs('market', priority);
  return Math.round((waitMs * POOLS.market.concurrency) / backlog.meanDurationMs('market'));
}

test('the wait of a job counts the jobs of the same or a higher priority only', async () => {
  ended(10_000);
  await queue(0, 0, 5, 5, 6, 7, 7, 900, BACKGROUND_PRIORITY, BACKGROUND_PRIORITY);
  expect(await Promise.all([0, 5, 6, 7, 8, 900, 901].map(ahead))).toEqual([2, 4, 5, 7, 7, 8, 8]);
});

test('the mean duration ignores jobs that never ran', () => {
  ended(8_000);
  const meanMs = backlog.meanDurationMs('market');
  for (let i = 0; i < 100; i += 1) ended(null);
  expect(backlog.meanDurationMs('market')).toBe(meanMs);
  ended(0);
  expect(backlog.meanDurationMs('market')).toBeLessThan(meanMs);
});

test('the mean duration is the one that workers report, once they do', async () => {
  ended(8_000);
  await redis.set(keys.meanDuration('market'), 500);
  await backlog.sample();
  expect(backlog.meanDurationMs('market')).toBe(500);
});

test('a worker reports the run time of its first job immediately, and of no other pool', async () => {
  const runTimes = createRunTimes({ redis, keys, clock, log });
  const mean = (pool: string) => readMeanDuration(redis, keys, pool);
  expect(await mean('market')).toBeNull();
  const job = { callId: uuid(), accountId: 1, operation: 'market.product', error: null } as const;
  runTimes.onEvent({ type: 'job.ended', ...job, pool: 'market', state: 'settled', durationMs: 8_000 });
  await expect.poll(() => mean('market')).toBe(8_000);
  expect(await mean('graph')).toBeNull();
  await runTimes.close();
});
