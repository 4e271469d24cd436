import { randomUUID } from 'node:crypto';
import { DelayedError, type Job, type Processor, UnrecoverableError, Worker } from 'bullmq';
import { reportAlive, reportGone, WORKER_LIFETIME_MS } from '../jobs/backlog.ts';
import { isRunnable, type Payload } from '../jobs/payload.ts';
import { POOLS, type PoolName, type WorkerPoolName } from '../src/operations/pools.ts';
import { startWorkLoop } from '../src/platform/clock.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { Stores } from '../src/platform/stores.ts';
import { LONGEST_SLEEP_MS, TokensAwaited } from '../src/upstream/token-bucket.ts';
import type { Attempt, Executor } from './executor.ts';

/** How often this process reports that it serves its pool. */
const REPORT_EVERY_MS = WORKER_LIFETIME_MS / 5;

type HeartbeatDeps = Pick<Stores, 'redis' | 'keys' | 'clock' | 'log'>;

/** Reports that this process serves a pool, until it is closed. @param workerId of this process. */
export async function startHeartbeat(
  { redis, keys, clock, log }: HeartbeatDeps,
  pool: WorkerPoolName,
  workerId: string,
): Promise<{ close(): Promise<void> }> {
  /** Reports again if Redis took the report late, because it counts from the time that it names. */
  async function alive(): Promise<void> {
    let reportedAt: number;
    do {
      reportedAt = clock.now();
      await reportAlive(redis, keys, pool, workerId, reportedAt);
    } while (clock.now() - reportedAt >= REPORT_EVERY_MS);
  }

  await alive();
  const reporting = startWorkLoop(clock, `${pool} worker report`, REPORT_EVERY_MS, () =>
    alive().catch((error) => log.warn({ err: error, pool }, 'reporting failed')),
  );
  // Redis may have come back without its data, and gateways refuse calls of a pool without workers.
  redis.on('ready', reporting.wake);

  return {
    async close() {
      redis.off('ready', reporting.wake);
      await reporting.close();
      await reportGone(redis, keys, pool, workerId).catch(() => {});
    },
  };
}

/** How long running jobs may continue when the process stops. */
export const GRACE_MS = 10_000;

/**
 * The lock of a running job expires after HOLD_MS unless its process renews it, which it does twice in that time. Every
 * ABANDONED_CHECK_MS, jobs with expired locks are given to another process, while their callers still wait.
 */
const HOLD_MS = 10_000;
const ABANDONED_CHECK_MS = 5_000;

/** How long a job that this process cannot run waits for another worker. */
const HANDED_BACK_MS = 1_000;

const PAUSE_AFTER_ERROR_MS = 500;

interface PoolWorkerDeps extends Pick<Stores, 'redis' | 'keys' | 'clock' | 'log'> {
  pool: PoolName;
  /** For the queue's commands; the worker duplicates it for its blocking reads. */
  pulling: Redis;
  execute: Executor['execute'];
}

/** Runs the jobs of one pool in this process. */
export async function openPoolWorker(deps: PoolWorkerDeps) {
  const { pool, execute, clock, log } = deps;
  let isAbandoned = false;
  let isLogged = false;
  /** The running jobs, by the ids of their calls. */
  const running = new Map<string, Promise<void>>();

  async function attempt(job: Job<Payload>, token: string | undefined, signal: AbortSignal): Promise<void> {
    if (isAbandoned) throw new Error('the worker stops');
    if (!isRunnable(job.data)) {
      if (!isLogged) log.warn({ pool, callId: job.id }, 'handed back a job that this version cannot run');
      isLogged = true;
      return handBack(deps, job, token);
    }
    const { begunAt = clock.now() } = job.data;
    // The job ends without a value: the completion message says how its call ended.
    await execute(attemptOf(job, pool, signal)).catch(async (error: unknown) => {
      if (!(error instanceof TokensAwaited)) throw error;
      // The next attempt accepts data fetched since then.
      await job.updateData({ ...job.data, begunAt });
      return later(deps, job, token, Math.min(error.waitMs, LONGEST_SLEEP_MS));
    });
  }

  // BullMQ passes the signal only to a function that declares three parameters.
  async function process(job: Job<Payload>, token: string | undefined, signal: AbortSignal | undefined) {
    const { id = '' } = job;
    const attempted = attempt(job, token, signal ?? new AbortController().signal);
    running.set(id, attempted);
    try {
      await attempted;
    } finally {
      // After its lock was lost, the job may run here again already.
      if (running.get(id) === attempted) running.delete(id);
    }
  }

  const worker = await openBullWorker(deps, process);
  const heartbeat = await startHeartbeat(deps, pool, randomUUID());

  /**
   * Stops the running jobs immediately.
   * @returns their calls. If Redis is down, a job cannot be returned to the queue: another worker takes it when its lock has expired,
   *   or finds it in the queue again, restored from PostgreSQL.
   */
  function abandon(): string[] {
    isAbandoned = true;
    worker.cancelAllJobs('the worker stops');
    return [...running.keys()];
  }

  return {
    /** Takes no more jobs, waits some time for running jobs, then returns the rest to the queue. */
    async close(): Promise<void> {
      const cancelGrace = clock.after(GRACE_MS, abandon, `${pool} worker grace`);
      await Promise.all([heartbeat.close(), worker.close()]);
      // BullMQ does not wait for them if it fails to disconnect.
      await Promise.allSettled(running.values());
      cancelGrace();
    },
    abandon,
  };
}

/** Starts the worker of BullMQ. */
async function openBullWorker(
  { pool, pulling, keys, log }: PoolWorkerDeps,
  process: Processor<Payload>,
): Promise<Worker<Payload>> {
  const worker = new Worker<Payload>(pool, process, {
    connection: pulling,
    prefix: keys.queuePrefix(pool),
    concurrency: POOLS[pool].concurrency,
    lockDuration: HOLD_MS,
    stalledInterval: ABANDONED_CHECK_MS,
    runRetryDelay: PAUSE_AFTER_ERROR_MS,
  });
  worker.on('error', (error) => log.warn({ err: error, pool }, 'worker connection error'));
  worker.on('failed', (job, error) => log.warn({ err: error, pool, callId: job?.id }, 'job attempt failed'));
  // Another worker gets these jobs. Settling is idempotent, but aborting here avoids a second upstream call.
  worker.on('lockRenewalFailed', (jobIds) => {
    for (const id of jobIds) worker.cancelJob(id, 'lock lost');
  });
  await worker.waitUntilReady();
  return worker;
}

function attemptOf(job: Job<Payload>, pool: PoolName, signal: AbortSignal): Attempt {
  const { data, attemptsStarted: number, processedOn, timestamp } = job;
  return {
    pool,
    data,
    number,
    waitedMs: number === 1 && processedOn ? processedOn - timestamp : null,
    signal,
    onProgress: (percent) => {
      // Progress is informative only, so errors are ignored.
      job.updateProgress(percent).catch(() => {});
    },
  };
}

/** Returns a job of a later version to the queue, for a worker of that version. Its call is released at its deadline. */
function handBack(deps: PoolWorkerDeps, job: Job<Payload>, token: string | undefined): Promise<never> {
  if (deps.clock.now() > job.data.deadlineAt) throw new UnrecoverableError('no worker could run this job');
  return later(deps, job, token, HANDED_BACK_MS);
}

/** Returns a job that cannot continue to the queue for a while. */
async function later(
  { redis, keys }: PoolWorkerDeps,
  job: Job<Payload>,
  token: string | undefined,
  waitMs: number,
): Promise<never> {
  await job.moveToDelayed(Date.now() + waitMs, token);
  // If a request promoted the job before it was delayed, it is promoted here.
  // BullMQ refuses it if that request comes in between and promotes the job itself.
  if (await redis.exists(keys.joined(job.data.callId))) await job.promote().catch(() => {});
  throw new DelayedError();
}
