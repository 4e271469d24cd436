import { Queue } from 'bullmq';
import { z } from 'zod';
import { BATCH_POOL } from '../src/operations/pools.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';

/** The key of the request; null: a key of the pages, or a job of an earlier version. */
const keyId = z.int().positive().nullable().default(null);

/** A job of the pool `batch`. */
export const batchJobSchema = z.discriminatedUnion('kind', [
  z.object({
    /** Reads an upload and creates a batch from it. */
    kind: z.literal('batch'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    keyId,
    upload: z.enum(['json', 'ndjson']),
    query: z.record(z.string(), z.unknown()),
    dryRun: z.boolean(),
  }),
  z.object({
    /** Reads an upload and creates or changes a schedule. */
    kind: z.literal('schedule'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    keyId,
    scheduleId: z.uuid().nullable(),
    dryRun: z.boolean(),
  }),
  z.object({
    /** Reads an upload and creates or changes a tracker. */
    kind: z.literal('tracker'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    keyId,
    trackerId: z.uuid().nullable(),
    dryRun: z.boolean(),
  }),
  z.object({
    /** Runs a schedule on demand; the request waits for the batch. */
    kind: z.literal('run'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    keyId,
    scheduleId: z.uuid(),
    /** What the request names; absent in jobs of an earlier version. */
    of: z.enum(['schedule', 'tracker']).default('schedule'),
  }),
]);

export type BatchJob = z.output<typeof batchJobSchema>;

const KINDS: ReadonlySet<unknown> = new Set(batchJobSchema.options.map(({ shape }) => shape.kind.value));

/** @returns null for a job of a kind that this version does not know. @throws ZodError. */
export function readBatchJob(data: { kind: unknown }): BatchJob | null {
  return KINDS.has(data.kind) ? batchJobSchema.parse(data) : null;
}

export type BatchQueue = Queue<BatchJob>;

export function openBatchQueue(redis: Redis, keys: RedisKeys, log: Logger): BatchQueue {
  const queue = new Queue<BatchJob>(BATCH_POOL, {
    connection: redis,
    prefix: keys.queuePrefix(BATCH_POOL),
    streams: { events: { maxLen: 100 } },
    defaultJobOptions: {
      attempts: 3,
      backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
      removeOnComplete: true,
      removeOnFail: true,
      sizeLimit: 64 * 1024,
    },
  });
  queue.on('error', (error) => log.warn({ err: error, pool: BATCH_POOL }, 'queue connection error'));
  return queue;
}
