import { Worker } from 'bullmq';
import { openCompletionChannel, type ReceivedSink } from '../../jobs/end-call.ts';
import { collectCalls } from '../../src/batches/collect.ts';
import { prepareBatch } from '../../src/batches/create-batch.ts';
import { cancelFedCalls, dropOldBatches, endStrandedCalls, expireBatches } from '../../src/batches/ending.ts';
import { type FeedDeps, feedBatches } from '../../src/batches/feed.ts';
import { dropOldRuns } from '../../src/batches/schedules/run.ts';
import {
  type RunDeps,
  runDueSchedules,
  runDueScreens,
  runNow,
} from '../../src/batches/schedules/schedule-runs.ts';
import { dropOldAlerts, queueAlertMessages } from '../../src/batches/trackers/alert.ts';
import { answerFailure, type BatchJob, readBatchJob } from '../../src/batches/uploads.ts';
import { BATCH_POOL } from '../../src/operations/pools.ts';
import { WEBHOOK_LIMITS } from '../../src/outbox/webhooks/webhook-limits.ts';
import { startWorkLoop, type WorkLoop } from '../../src/platform/clock.ts';
import { MINUTE_MS } from '../../src/platform/durations.ts';
import { recentlyUsed } from '../../src/platform/recently-used.ts';
import type { Redis } from '../../src/platform/redis.ts';

export interface BatchWorkerDeps
  extends Omit<FeedDeps, 'onFed' | 'onJoined' | 'completionChannel'>,
    UploadWorkerDeps {
  subscriber: Redis;
  onCompletionReceived: ReceivedSink;
}

const LOOK_EVERY_MS = 1_000;
const UPKEEP_EVERY_MS = MINUTE_MS;
const FED_CALLS_KNOWN = 10_000;

/** The pool `batch`: reads uploads, runs schedules, feeds batches and collects their results. Several processes can run it. */
export async function openBatchWorker(deps: BatchWorkerDeps): Promise<{ close(): Promise<void> }> {
  const { subscriber, keys } = deps;
  /** Calls that this process has fed. It collects them as soon as they end, and calls of other processes within a second. */
  const fedHere = recentlyUsed<string, true>(FED_CALLS_KNOWN);
  const onReceived = deps.onCompletionReceived;
  const channel = await openCompletionChannel({ ...deps, onReceived });
  const stopListening = channel.onEnded(({ callId }) => {
    if (fedHere.delete(callId)) batches.wake();
  });
  const batches = startBatchLoop({
    ...deps,
    completionChannel: channel.id,
    onFed: (callId) => void fedHere.set(callId, true),
    onJoined: channel.register,
  });
  const schedules = startScheduleLoop(deps);
  const onMessage = (channel: string) => {
    if (channel === keys.batchesChannel) batches.wake();
  };
  subscriber.on('message', onMessage);
  await subscriber.subscribe(keys.batchesChannel);
  const uploads = await openUploadWorker(deps);
  batches.wake();
  schedules.wake();

  return {
    async close() {
      subscriber.off('message', onMessage);
      stopListening();
      await Promise.all([batches.close(), schedules.close(), uploads.close()]);
    },
  };
}

function startBatchLoop(deps: FeedDeps): WorkLoop {
  const { clock, log } = deps;
  const loop = startWorkLoop(clock, 'batch step', LOOK_EVERY_MS, () =>
    step().catch((error: unknown) => log.warn({ err: error }, 'failed to process batches')),
  );

  async function step(): Promise<void> {
    await expireBatches(deps);
    await cancelFedCalls(deps);
    await endStrandedCalls(deps);
    await collectCalls(deps);
    // Answers that are there already are collected immediately, which makes room for more.
    if (await feedBatches(deps)) loop.wake();
  }
  return loop;
}

function startScheduleLoop(deps: BatchWorkerDeps): WorkLoop {
  const { database, clock, log, webhooks } = deps;
  let upkeepAt = clock.now();

  async function step(): Promise<void> {
    await runDueSchedules(deps);
    await runDueScreens(deps);
    if (clock.now() < upkeepAt) return;
    upkeepAt = clock.now() + UPKEEP_EVERY_MS;
    await dropOldBatches(database, clock.now());
    await dropOldRuns(database, clock.now());
    await dropOldAlerts(database, clock.now());
    await queueAlertMessages(database, webhooks.limits ?? WEBHOOK_LIMITS, clock.now());
  }
  return startWorkLoop(clock, 'schedule step', LOOK_EVERY_MS, () =>
    step().catch((error: unknown) => log.warn({ err: error }, 'failed to run due schedules')),
  );
}

const UPLOADS_AT_ONCE = 4;

interface UploadWorkerDeps extends RunDeps {
  /** For the queue's commands. */
  pulling: Redis;
}

/** Processes uploads: creates batches, and runs schedules on demand. */
async function openUploadWorker(deps: UploadWorkerDeps): Promise<{ close(): Promise<void> }> {
  const { pulling, keys, log } = deps;
  const worker = new Worker<BatchJob>(
    BATCH_POOL,
    async ({ data }) => {
      const job = readBatchJob(data);
      switch (job?.kind) {
        case 'batch':
          return prepareBatch(deps, job);
        case 'run':
          return runNow(deps, job);
        default:
          log.debug({ kind: data.kind }, 'ignored batch job of unknown kind');
      }
    },
    { connection: pulling, prefix: keys.queuePrefix(BATCH_POOL), concurrency: UPLOADS_AT_ONCE },
  );
  worker.on('error', (error) => log.warn({ err: error, pool: BATCH_POOL }, 'worker connection error'));
  worker.on('failed', (job, error) => {
    log.warn({ err: error, job: job?.name }, 'batch job attempt failed');
    // A job without an end time is retried.
    if (!job?.finishedOn || !('uploadId' in job.data)) return;
    answerFailure(deps, job.data.uploadId).catch((error: unknown) =>
      log.warn({ err: error }, 'failed to reply to an upload'),
    );
  });
  await worker.waitUntilReady();
  return { close: () => worker.close() };
}
