import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../src/log.ts';
import type { RedisKeys } from '../src/redis-keys.ts';
import type { Payload } from './payload.ts';
import { POOL_NAMES, type PoolName } from './pools.ts';

export type Queues = Record<PoolName, Queue<Payload>>;

/**
 * The queues of all pools, for submitting. A job leaves no trace when it has ended: what became of a call is in
 * PostgreSQL and its answer in the result store.
 */
export function openQueues(redis: Redis, keys: RedisKeys, log: Logger): Queues {
  const entries = POOL_NAMES.map((pool) => {
    const queue = new Queue<Payload>(pool, {
      connection: redis,
      prefix: keys.queuePrefix(pool),
      // Nobody reads the event stream: the end of a job is published on a channel of our own.
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: {
        // Only infrastructure faults throw out of a job; upstream's faults are handled, and end the call, inside it.
        attempts: 5,
        backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
        removeOnComplete: true,
        removeOnFail: true,
        sizeLimit: 64 * 1024,
      },
    });
    queue.on('error', (error) => log.warn({ err: error, pool }, 'queue connection'));
    return [pool, queue] as const;
  });
  return Object.fromEntries(entries) as Queues;
}

export async function closeQueues(queues: Queues): Promise<void> {
  await Promise.all(Object.values(queues).map((queue) => queue.close()));
}
