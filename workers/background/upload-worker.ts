import { Worker } from 'bullmq';
import { type BatchJob, readBatchJob } from '../../jobs/batch-queue.ts';
import { BATCH_POOL } from '../../src/operations/pools.ts';
import type { Redis } from '../../src/platform/redis.ts';
import { answerFailure, type PrepareDeps, prepareBatch } from './prepare.ts';
import { prepareSchedule, runNow } from './prepare-schedule.ts';
import { prepareTracker } from './prepare-tracker.ts';

const UPLOADS_AT_ONCE = 4;

export interface UploadWorkerDeps extends PrepareDeps {
  /** For the queue's commands. */
  pulling: Redis;
}

/** Processes uploads: creates batches, creates and changes schedules and trackers, and runs schedules on demand. */
export async function openUploadWorker(deps: UploadWorkerDeps): Promise<{ close(): Promise<void> }> {
  const { pulling, keys, log } = deps;
  const worker = new Worker<BatchJob>(
    BATCH_POOL,
    async ({ data }) => {
      const job = readBatchJob(data);
      switch (job?.kind) {
        case 'batch':
          return prepareBatch(deps, job);
        case 'schedule':
          return prepareSchedule(deps, job);
        case 'tracker':
          return prepareTracker(deps, job);
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
