import { openCompletionChannel, type ReceivedSink } from '../../jobs/completion-channel.ts';
import { dropOldBatches, endStrandedCalls, expireBatches } from '../../src/batches/ending.ts';
import { dropOldRuns } from '../../src/batches/schedules/run.ts';
import { dropOldAlerts } from '../../src/batches/trackers/alert.ts';
import { queueAlertMails } from '../../src/batches/trackers/mail-alerts.ts';
import { recentlyUsed } from '../../src/platform/recently-used.ts';
import type { Redis } from '../../src/platform/redis.ts';
import { startWorkLoop, type WorkLoop } from '../../src/platform/work-loop.ts';
import { cancelFedCalls } from './cancel-fed.ts';
import { collectCalls } from './collect.ts';
import { feedBatches } from './feed.ts';
import type { FeedDeps } from './feed-deps.ts';
import type { PrepareDeps } from './prepare.ts';
import { runDueSchedules } from './schedule-runs.ts';
import { openUploadWorker, type UploadWorkerDeps } from './upload-worker.ts';

export interface BatchWorkerDeps
  extends Omit<FeedDeps, 'onFed' | 'onJoined' | 'completionChannel'>,
    UploadWorkerDeps {
  subscriber: Redis;
  onCompletionReceived: ReceivedSink;
}

export interface BatchWorker {
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;
const UPKEEP_EVERY_MS = 60_000;
const FED_CALLS_KNOWN = 10_000;

/**
 * The pool `batch`: reads uploads, runs schedules, feeds batches and collects their results. Several processes can
 * run it.
 */
export async function openBatchWorker(deps: BatchWorkerDeps): Promise<BatchWorker> {
  const { subscriber, keys } = deps;
  /**
   * Calls that this process has fed. It collects them as soon as they end, and calls of other processes within a
   * second.
   */
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
  const { database, clock, log, onFinished } = deps;
  const loop = startWorkLoop(clock, 'batch step', LOOK_EVERY_MS, () =>
    step().catch((error: unknown) => log.warn({ err: error }, 'failed to process batches')),
  );

  async function step(): Promise<void> {
    await expireBatches(database, clock.now(), onFinished);
    await cancelFedCalls(deps);
    await endStrandedCalls(database, clock.now(), onFinished);
    await collectCalls(deps);
    // Cached answers are collected at once, which makes room for more.
    if (await feedBatches(deps)) loop.wake();
  }
  return loop;
}

function startScheduleLoop(deps: PrepareDeps): WorkLoop {
  const { database, clock, log } = deps;
  let upkeepAt = clock.now();

  async function step(): Promise<void> {
    await runDueSchedules(deps);
    if (clock.now() < upkeepAt) return;
    upkeepAt = clock.now() + UPKEEP_EVERY_MS;
    await dropOldBatches(database, clock.now());
    await dropOldRuns(database, clock.now());
    await dropOldAlerts(database, clock.now());
    await queueAlertMails(database, clock.now());
  }
  return startWorkLoop(clock, 'schedule step', LOOK_EVERY_MS, () =>
    step().catch((error: unknown) => log.warn({ err: error }, 'failed to run due schedules')),
  );
}
