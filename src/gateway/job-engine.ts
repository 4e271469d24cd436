import { type Backlog, openBacklog } from '../../jobs/backlog.ts';
import { type BatchQueue, openBatchQueue } from '../../jobs/batch-queue.ts';
import type { ReceivedSink } from '../../jobs/completion-channel.ts';
import { createFairness, type Fairness } from '../../jobs/fairness.ts';
import { openQueues, type Queues } from '../../jobs/queues.ts';
import { openReplies, type Replies } from '../../jobs/replies.ts';
import { type CompletionMap, openCompletionMap } from '../../jobs/wait.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/log.ts';
import type { CallEvents } from '../platform/telemetry/call-events.ts';
import type { Stores } from './stores.ts';

/** The gateway's side of the job engine: queues for submission, and completion messages. */
export interface JobEngine {
  queues: Queues;
  batchQueue: BatchQueue;
  replies: Replies;
  completions: CompletionMap;
  fairness: Fairness;
  backlog: Backlog;
  /** Ends all waiting: requests that wait for jobs get a 202 with the job. */
  stopWaiting(): Promise<void>;
  close(): Promise<void>;
}

/** @param queueShards the setting QUEUE_SHARDS. */
export async function openJobEngine(
  { database, redis, subscriber, submitting, keys }: Stores,
  clock: Clock,
  log: Logger,
  events: CallEvents,
  onReceived: ReceivedSink,
  queueShards?: number,
): Promise<JobEngine> {
  const queues = openQueues(submitting, keys, log, queueShards);
  await queues.waitUntilReady();
  const batchQueue = openBatchQueue(submitting, keys, log);
  await batchQueue.waitUntilReady();
  const replies = await openReplies({ redis, subscriber, keys, clock });
  const completions = await openCompletionMap({
    ...{ redis, subscriber, keys, database, clock, log, events, onReceived },
  });
  const { onEnded } = completions;
  const fairness = createFairness(clock.now);
  onEnded(({ callId }) => fairness.end(callId));
  const backlog = await openBacklog({ redis, keys, queues, clock, log, onEnded });
  return {
    queues,
    batchQueue,
    replies,
    completions,
    fairness,
    backlog,
    async stopWaiting() {
      await completions.close();
      replies.close();
    },
    async close() {
      await backlog.close();
      await queues.close();
      await batchQueue.close();
    },
  };
}
