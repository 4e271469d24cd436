import { type AdvancedOptions, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { nextRuns } from '../src/batches/schedules/cron.ts';
import { BATCH_POOL } from '../src/operations/pools.ts';
import type { Logger } from '../src/platform/log.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';

/** A job of the pool `batch`. */
export const batchJobSchema = z.discriminatedUnion('kind', [
  z.object({
    /** Reads an upload and makes a batch of it. */
    kind: z.literal('batch'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    upload: z.enum(['json', 'ndjson']),
    query: z.record(z.string(), z.unknown()),
    dryRun: z.boolean(),
  }),
  z.object({
    /** Reads an upload and makes a schedule of it, or changes one. */
    kind: z.literal('schedule'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    scheduleId: z.uuid().nullable(),
    dryRun: z.boolean(),
  }),
  z.object({
    /** Somebody wants a schedule to run now, and waits to be told of the batch. */
    kind: z.literal('run'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    scheduleId: z.uuid(),
  }),
  z.object({
    /** A schedule is due. */
    kind: z.literal('tick'),
    scheduleId: z.uuid(),
  }),
]);

export type BatchJob = z.output<typeof batchJobSchema>;

export type BatchQueue = Queue<BatchJob>;

/** Of the queue and its workers alike: patterns are read as schedules are, whatever BullMQ makes of clocks that change. */
export const BATCH_QUEUE_SETTINGS: AdvancedOptions = {
  repeatStrategy: (after, { pattern = '', tz = 'UTC' }) =>
    nextRuns({ cron: pattern, timezone: tz }, after, 1)[0],
};

export function openBatchQueue(redis: Redis, keys: RedisKeys, log: Logger): BatchQueue {
  const queue = new Queue<BatchJob>(BATCH_POOL, {
    connection: redis,
    prefix: keys.queuePrefix(BATCH_POOL),
    settings: BATCH_QUEUE_SETTINGS,
    streams: { events: { maxLen: 100 } },
    defaultJobOptions: {
      attempts: 3,
      backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
      removeOnComplete: true,
      removeOnFail: true,
      sizeLimit: 64 * 1024,
    },
  });
  queue.on('error', (error) => log.warn({ err: error, pool: BATCH_POOL }, 'queue connection'));
  return queue;
}
