import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { type BatchJob, openBatchQueue, readBatchJob, removeJobSchedulers } from '../../jobs/batch-queue.ts';
import { cancelJob } from '../../jobs/cancel.ts';
import { decodeCompletion } from '../../jobs/completion-message.ts';
import { dropOldBatches, endCall, endLeftovers, expireBatches, lockCall } from '../../src/batches/ending.ts';
import { callsToCancel, type FedCall } from '../../src/batches/feeding.ts';
import { dropOldRuns } from '../../src/batches/schedules/run.ts';
import { findCall } from '../../src/billing/calls.ts';
import { BATCH_POOL } from '../../src/operations/pools.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { SoukError, toRecord } from '../../src/platform/errors.ts';
import { startWorkLoop } from '../../src/platform/work-loop.ts';
import { collectCalls } from './collect.ts';
import { feedBatches } from './feed.ts';
import type { FeedDeps } from './feed-deps.ts';
import { answerFailure, type PrepareDeps, prepareBatch } from './prepare.ts';
import { prepareSchedule, runNow } from './prepare-schedule.ts';
import { runDueSchedules } from './schedule-runs.ts';

export interface BatchWorkerDeps extends Omit<FeedDeps, 'onFed'>, PrepareDeps {
  subscriber: Redis;
  /** For the queue's commands. */
  pulling: Redis;
}

export interface BatchWorker {
  close(): Promise<void>;
}

const JOBS_AT_ONCE = 4;
const LOOK_EVERY_MS = 1_000;
const UPKEEP_EVERY_MS = 60_000;
const FED_CALLS_KNOWN = 10_000;

/** The pool `batch`: reads uploads, feeds batches and collects what they bring. Any number of processes may. */
export async function openBatchWorker(deps: BatchWorkerDeps): Promise<BatchWorker> {
  const { subscriber, pulling, keys, log, clock } = deps;
  /** Calls that this process has fed: their ends are noticed at once, those of others within a second. */
  const fedHere = new LRUCache<string, true>({ max: FED_CALLS_KNOWN });
  const work = { ...deps, onFed: (callId: string) => void fedHere.set(callId, true) };
  let upkeepAt = clock.now();

  const loop = startWorkLoop(clock, LOOK_EVERY_MS, () =>
    step().catch((error: unknown) => log.warn({ err: error }, 'a step of the batches failed')),
  );

  async function step(): Promise<void> {
    await expireBatches(deps.database, clock.now(), deps.onFinished);
    await cancelFed();
    await endLeftovers(deps.database, clock.now(), deps.onFinished);
    await collectCalls(work);
    // What was at hand is collected at once, and makes room for more.
    if (await feedBatches(work)) loop.wake();
  }

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
  }

  async function cancelFed(): Promise<void> {
    for (const fed of await callsToCancel(deps.database)) {
      if (fed.joined) {
        await leaveJoined(fed);
        continue;
      }
      const call = await findCall(deps.database, fed.accountId, fed.callId);
      if (call?.state !== 'reserved') continue;
      await cancelJob(deps, call).catch((error: unknown) => {
        // Somebody waits for it, so it goes on.
        if (!(error instanceof SoukError && error.kind === 'JOB_SHARED')) throw error;
      });
    }
  }

  /** The call is another's, and goes on without this batch. */
  async function leaveJoined(fed: FedCall): Promise<void> {
    const error = toRecord(new SoukError('CANCELLED'));
    await inTransaction(deps.database, async (client) => {
      if (await lockCall(client, fed))
        await endCall(client, fed, { state: 'cancelled', error }, clock.now(), deps.onFinished);
    });
  }

  const onMessage = (channel: string, message: string) => {
    if (channel === keys.batchesChannel) loop.wake();
    if (channel === keys.jobsChannel && fedHere.delete(decodeCompletion(message).callId)) loop.wake();
  };
  const queue = openBatchQueue(pulling, keys, log);
  await removeJobSchedulers(queue);
  await queue.close();
  subscriber.on('message', onMessage);
  await subscriber.subscribe(keys.batchesChannel, keys.jobsChannel);

  const worker = new Worker<BatchJob>(
    BATCH_POOL,
    async ({ data }) => {
      const job = readBatchJob(data);
      switch (job?.kind) {
        case 'batch':
          return prepareBatch(work, job);
        case 'schedule':
          return prepareSchedule(work, job);
        case 'run':
          return runNow(work, job);
        default:
          log.debug({ kind: data.kind }, 'ignored batch job of unknown kind');
      }
    },
    { connection: pulling, prefix: keys.queuePrefix(BATCH_POOL), concurrency: JOBS_AT_ONCE },
  );
  worker.on('error', (error) => log.warn({ err: error, pool: BATCH_POOL }, 'worker connection'));
  worker.on('failed', (job, error) => {
    log.warn({ err: error, job: job?.name }, 'batch job attempt failed');
    // Without the time of its end it is tried again.
    if (!job?.finishedOn || !('uploadId' in job.data)) return;
    answerFailure(work, job.data.uploadId).catch((error: unknown) =>
      log.warn({ err: error }, 'telling that an upload failed did not work'),
    );
  });
  await worker.waitUntilReady();
  loop.wake();
  scheduleLoop.wake();

  return {
    async close() {
      subscriber.off('message', onMessage);
      await Promise.all([loop.close(), scheduleLoop.close()]);
      await worker.close();
    },
  };
}
