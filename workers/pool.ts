import { randomUUID } from 'node:crypto';
import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import { isRunnable, type Payload } from '../jobs/payload.ts';
import { holdsJobs, type Queues, queueName } from '../jobs/queues.ts';
import { POOLS, type PoolName } from '../src/operations/pools.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { TokensAwaited } from '../src/upstream/token-bucket.ts';
import type { Executor } from './executor.ts';
import { startHeartbeat } from './heartbeat.ts';
import { createPlaces } from './places.ts';
import { ShardWorker } from './shard-worker.ts';

/** Runs the jobs of one pool in this process. */
export interface PoolWorker {
  /** Takes no more jobs, waits some time for running jobs, then returns the rest to the queue. */
  close(): Promise<void>;
  /**
   * Stops the running jobs at once.
   * @returns their calls. A job that is not returned to the queue, because Redis is away, is taken by another worker when its lock has
   *   expired, or put into the queue again from PostgreSQL.
   */
  abandon(): string[];
}

/** How long running jobs may continue when the process stops. */
const GRACE_MS = 10_000;

/**
 * The lock of a running job expires after HOLD_MS unless its process renews it, which it does twice in that time. Every
 * ABANDONED_CHECK_MS, jobs with expired locks are given to another process, while their callers still wait.
 */
const HOLD_MS = 10_000;
const ABANDONED_CHECK_MS = 5_000;

/** How long a job that this process cannot run waits for another worker. */
const HANDED_BACK_MS = 1_000;

export async function openPoolWorker(deps: {
  pool: PoolName;
  redis: Redis;
  /** For the queue's commands; the worker duplicates it for its blocking reads. */
  pulling: Redis;
  keys: RedisKeys;
  queues: Queues;
  execute: Executor['execute'];
  clock: Clock;
  log: Logger;
}): Promise<PoolWorker> {
  const { pool, redis, pulling, keys, queues, execute, clock, log } = deps;
  const workerId = randomUUID();

  // BullMQ passes the signal only to a function that declares three parameters.
  const process = async (job: Job<Payload>, token: string | undefined, signal: AbortSignal | undefined) => {
    if (isAbandoned) throw new Error('the worker stops');
    if (!isRunnable(job.data)) return handBack(job, token);
    // The job ends without a value: the completion message says how its call ended.
    await execute({
      pool,
      data: job.data,
      number: job.attemptsStarted,
      waitedMs: job.attemptsStarted === 1 && job.processedOn ? job.processedOn - job.timestamp : null,
      signal: signal ?? new AbortController().signal,
      onProgress: (percent) => {
        // Progress is informative only, so errors are ignored.
        job.updateProgress(percent).catch(() => {});
      },
    }).catch((error: unknown) => {
      if (error instanceof TokensAwaited) return later(job, token, error.waitMs);
      throw error;
    });
  };
  /** Returns a job that cannot continue to the queue for a while. */
  const later = async (job: Job<Payload>, token: string | undefined, waitMs: number): Promise<never> => {
    await job.moveToDelayed(Date.now() + waitMs, token);
    // If a request promoted the job before it was delayed, it is promoted here.
    if (await redis.exists(keys.joined(job.data.callId))) await job.promote();
    throw new DelayedError();
  };
  let isLogged = false;
  /** Returns a job of a later version to the queue, for a worker of that version. Its call is released at its deadline. */
  const handBack = (job: Job<Payload>, token: string | undefined): Promise<never> => {
    if (!isLogged) log.warn({ pool, callId: job.id }, 'handed back a job that this version cannot run');
    isLogged = true;
    if (clock.now() > job.data.deadlineAt) throw new UnrecoverableError('no worker could run this job');
    return later(job, token, HANDED_BACK_MS);
  };
  const places = createPlaces(POOLS[pool].concurrency);
  /** By the number of the queue. */
  const workers = new Map<number, ShardWorker>();
  const closing = new Map<ShardWorker, Promise<void>>();
  let isClosing = false;
  let isAbandoned = false;

  async function openShard(shard: number): Promise<void> {
    const worker = new ShardWorker(queueName(pool, shard), process, {
      connection: pulling,
      prefix: keys.queuePrefix(pool, shard),
      lockDuration: HOLD_MS,
      stalledInterval: ABANDONED_CHECK_MS,
      places,
    });
    worker.on('error', (error) => log.warn({ err: error, pool }, 'worker connection error'));
    worker.on('failed', (job, error) =>
      log.warn({ err: error, pool, callId: job?.id }, 'job attempt failed'),
    );
    // Another worker gets these jobs. Settling is idempotent, but aborting here avoids a second upstream call.
    worker.on('lockRenewalFailed', (jobIds) => {
      for (const id of jobIds) worker.cancelJob(id, 'lock lost');
    });
    await worker.waitUntilReady();
    workers.set(shard, worker);
    if (isClosing) closeShard(shard, worker);
    else void worker.run();
  }

  function closeShard(shard: number, worker: ShardWorker): void {
    workers.delete(shard);
    closing.set(
      worker,
      worker.close().finally(() => closing.delete(worker)),
    );
  }

  function abandon(): string[] {
    isAbandoned = true;
    const stopping = [...closing.keys(), ...workers.values()];
    const held = stopping.flatMap((worker) => worker.heldJobs);
    for (const worker of stopping) worker.cancelAllJobs('the worker stops');
    return held;
  }

  /** Serves the queues to which jobs are added, and those of an earlier number of queues until they are empty. */
  async function serve(): Promise<void> {
    const now = clock.now();
    await queues.refresh(now);
    const inUse = queues.inUse(now);
    await Promise.all(
      queues.all(pool).map(async (queue, shard) => {
        const isNeeded = shard < inUse || (await holdsJobs(queue));
        const worker = workers.get(shard);
        if (isNeeded && !worker) await openShard(shard);
        if (!isNeeded && worker) closeShard(shard, worker);
      }),
    );
  }

  const heartbeat = await startHeartbeat({ redis, keys, clock, log }, pool, workerId, serve);

  return {
    async close() {
      isClosing = true;
      const gone = heartbeat.close();
      for (const [shard, worker] of workers) closeShard(shard, worker);
      const cancelGrace = clock.after(GRACE_MS, abandon, `${pool} worker grace`);
      await gone;
      await Promise.all(closing.values());
      cancelGrace();
    },
    abandon,
  };
}
