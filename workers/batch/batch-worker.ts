import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import {
  BATCH_QUEUE_SETTINGS,
  type BatchJob,
  batchJobSchema,
  openBatchQueue,
} from '../../jobs/batch-queue.ts';
import { cancelJob } from '../../jobs/cancel.ts';
import { decodeJobEnded } from '../../jobs/job-ended.ts';
import { BATCH_POOL } from '../../jobs/pools.ts';
import { dropOldBatches, expireBatches, type OnFinished } from '../../src/batches/ending.ts';
import { callsToCancel } from '../../src/batches/feeding.ts';
import { findCall } from '../../src/billing/calls.ts';
import { SoukError } from '../../src/errors.ts';
import { dropOldRuns } from '../../src/schedules/run.ts';
import { startWorkLoop } from '../../src/work-loop.ts';
import { collectCalls } from './collect.ts';
import { type FeedDeps, feedBatches } from './feed.ts';
import { type PrepareDeps, prepareBatch } from './prepare.ts';
import { prepareSchedule, runNow } from './prepare-schedule.ts';
import { reconcileSchedules, runDueSchedules, runTick } from './schedule-runs.ts';

export interface BatchWorkerDeps extends Omit<FeedDeps, 'onFed'>, PrepareDeps {
  subscriber: Redis;
  /** For the queue's commands. */
  pulling: Redis;
  onFinished: OnFinished;
}

export interface BatchWorker {
  close(): Promise<void>;
}

const JOBS_AT_ONCE = 4;
const LOOK_EVERY_MS = 1_000;
const UPKEEP_EVERY_MS = 60_000;

/** The pool `batch`: reads uploads, feeds batches and collects what they bring. Any number of processes may. */
export async function openBatchWorker(deps: BatchWorkerDeps): Promise<BatchWorker> {
  const { subscriber, pulling, keys, log, clock } = deps;
  /** Calls that this process has fed: their ends are noticed at once, those of others within a second. */
  const fedHere = new Set<string>();
  const work = { ...deps, onFed: (callId: string) => void fedHere.add(callId) };
  const batchQueue = openBatchQueue(pulling, keys, log);
  let upkeepAt = clock.now();

  const loop = startWorkLoop(clock, LOOK_EVERY_MS, () =>
    step().catch((error: unknown) => log.warn({ err: error }, 'a step of the batches failed')),
  );

  async function step(): Promise<void> {
    await expireBatches(deps.database, clock.now(), deps.onFinished);
    await cancelFed();
    await collectCalls(work);
    // What was at hand is collected at once, and makes room for more.
    while ((await feedBatches(work)) && (await collectCalls(work)));
  }

  // The queue tells when a schedule is due; this is for ticks it has lost, and for those nothing ran at.
  const scheduleLoop = startWorkLoop(clock, LOOK_EVERY_MS, () =>
    lookAfterSchedules().catch((error: unknown) =>
      log.warn({ err: error }, 'a step of the schedules failed'),
    ),
  );

  async function lookAfterSchedules(): Promise<void> {
    await runDueSchedules(work);
    if (clock.now() < upkeepAt) return;
    upkeepAt = clock.now() + UPKEEP_EVERY_MS;
    await dropOldBatches(deps.database, clock.now());
    await dropOldRuns(deps.database, clock.now());
    await reconcileSchedules(work, batchQueue);
  }

  async function cancelFed(): Promise<void> {
    for (const { accountId, callId, joined } of await callsToCancel(deps.database)) {
      const call = joined ? null : await findCall(deps.database, accountId, callId);
      if (call?.state !== 'reserved') continue;
      await cancelJob(deps, call).catch((error: unknown) => {
        // Somebody waits for it, so it goes on.
        if (!(error instanceof SoukError && error.kind === 'JOB_SHARED')) throw error;
      });
    }
  }

  const onMessage = (channel: string, message: string) => {
    if (channel === keys.batchesChannel) loop.wake();
    if (channel === keys.jobsChannel && fedHere.delete(decodeJobEnded(message).callId)) loop.wake();
  };
  subscriber.on('message', onMessage);
  await subscriber.subscribe(keys.batchesChannel, keys.jobsChannel);

  const worker = new Worker<BatchJob>(
    BATCH_POOL,
    async ({ data }) => {
      const job = batchJobSchema.parse(data);
      switch (job.kind) {
        case 'batch':
          return prepareBatch(work, job);
        case 'schedule':
          return prepareSchedule(work, batchQueue, job);
        case 'run':
          return runNow(work, job);
        case 'tick':
          return runTick(work, job.scheduleId);
      }
    },
    {
      connection: pulling,
      prefix: keys.queuePrefix(BATCH_POOL),
      concurrency: JOBS_AT_ONCE,
      settings: BATCH_QUEUE_SETTINGS,
    },
  );
  worker.on('error', (error) => log.warn({ err: error, pool: BATCH_POOL }, 'worker connection'));
  worker.on('failed', (job, error) => log.warn({ err: error, job: job?.name }, 'batch job attempt failed'));
  await worker.waitUntilReady();
  loop.wake();
  scheduleLoop.wake();

  return {
    async close() {
      subscriber.off('message', onMessage);
      await Promise.all([loop.close(), scheduleLoop.close()]);
      await worker.close();
      await batchQueue.close();
    },
  };
}
