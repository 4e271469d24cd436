import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { CompletionMessage } from '../../jobs/end-call.ts';
import { payloadOf } from '../../jobs/payload.ts';
import { addJob, openQueues } from '../../jobs/queues.ts';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { openPoolWorker } from '../../workers/pool.ts';
import { TestClock } from '../support/clock.ts';
import { test } from '../support/souk-test.ts';

test('a worker takes job after job while no answer of Redis comes', async ({ souk, onTestFinished }) => {
  const [log, clock, keys] = [createLogger('silent'), new TestClock(), redisKeys(`pool-${randomUUID()}`)];
  const redis = await connectRedis(souk.redisUrl, 'working', log);
  const pulling = await connectRedis(souk.redisUrl, 'pulling', log);
  const queues = openQueues(pulling, keys, log);
  const started: string[] = [];
  const worker = await openPoolWorker({
    pool: 'market',
    redis,
    pulling,
    keys,
    clock,
    log,
    async execute({ data }) {
      started.push((data as { callId: string }).callId);
      return {} as CompletionMessage;
    },
  });
  const waiting = redis.blpop(`${keys.queuePrefix('market')}:nothing`, 0);
  onTestFinished(async () => {
    await pulling.rpush(`${keys.queuePrefix('market')}:nothing`, 1);
    await waiting;
    await worker.close();
    await queues.close();
    await closeRedis(redis, pulling);
  });
  const call = {
    accountId: 1,
    operation: 'market.product',
    input: {},
    unitsReserved: 1,
    unitsPaid: 0,
    background: false,
  };
  const callIds = Array.from({ length: 4 }, () => randomUUID());
  for (const [i, callId] of callIds.entries()) {
    await addJob(queues, 'market', payloadOf({ ...call, callId, deadlineAt: clock.now() + 60_000 }), 0);
    await expect.poll(() => started).toEqual(callIds.slice(0, i + 1));
  }
});
