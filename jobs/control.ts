import { z } from 'zod';
import type { Call } from '../src/billing/calls.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import { ASYNC_QUEUE_ALLOWANCE_MS, POOLS, type PoolName } from '../src/operations/pools.ts';
import { listen } from '../src/platform/channel.ts';
import { SoukError, toRecord } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import { retryDuringOutage } from '../src/platform/outage.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { Stores } from '../src/platform/stores.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { completionMessage, endCall, publishCompletion } from './end-call.ts';
import type { Queues } from './queues.ts';

const controlSchema = z.object({
  action: z.enum(['cancel', 'promote']),
  callId: z.string(),
});

/** A command to the worker that runs a job: cancel it, or promote it because a request now waits for it. */
export type Control = z.output<typeof controlSchema>;

async function publishControl(redis: Redis, keys: RedisKeys, control: Control): Promise<void> {
  await redis.publish(keys.controlChannel, JSON.stringify(control));
}

/** @param from.subscriber a Redis connection for subscriptions only. */
export async function onControl(
  from: { subscriber: Redis; log: Logger },
  keys: RedisKeys,
  listener: (control: Control) => void,
): Promise<void> {
  await listen(from, keys.controlChannel, controlSchema, listener);
}

/** Marks a job as joined by another request. Such a job cannot be cancelled. @param lifetimeMs until its call ends at the latest. */
export async function noteJoined(
  redis: Redis,
  keys: RedisKeys,
  callId: string,
  lifetimeMs: number,
): Promise<void> {
  await redis.set(keys.joined(callId), 1, 'PX', lifetimeMs);
}

/** Promotes the job of a batch's call because a request now waits for it: it gets the priority of other calls. */
export async function promote(
  deps: { redis: Redis; keys: RedisKeys; queues: Queues },
  call: { pool: PoolName; callId: string },
): Promise<void> {
  const job = await deps.queues.of(call.pool).getJob(call.callId);
  // The job may have been taken, or have ended, in the meantime.
  await job?.changePriority({ priority: 0 }).catch(() => {});
  if (await job?.isDelayed()) await job?.promote().catch(() => {});
  await publishControl(deps.redis, deps.keys, { action: 'promote', callId: call.callId });
}

export interface CancelDeps extends Pick<Stores, 'redis' | 'keys' | 'clock'> {
  queues: Queues;
  settlements: Settlements;
  events: CallEvents;
}

/**
 * Cancels what has not been sent upstream. A queued job never runs, and all units of its call are released. A running job
 * sends nothing more, and its worker ends the call with what was sent. A job that has ended does not change.
 * @throws SoukError JOB_SHARED if other requests of the account have joined it.
 */
export async function cancelJob(deps: CancelDeps, call: Call): Promise<void> {
  const { redis, keys, queues, clock } = deps;
  const { callId, pool } = call;
  if (await redis.exists(keys.joined(callId))) throw new SoukError('JOB_SHARED');
  const stop = () => publishControl(redis, keys, { action: 'cancel', callId });
  // Only the queue knows whether the job of an open call has started. It does not remove a running job.
  const queue = queues.of(pool);
  const job = await queue.getJob(callId);
  if (job && (await queue.remove(callId)) === 0) {
    // The mark is for the next worker, if the present one dies.
    await redis.set(keys.cancelled(callId), 1, 'PX', POOLS[pool].timeoutMs + ASYNC_QUEUE_ALLOWANCE_MS);
    await stop();
    return;
  }
  const error = toRecord(new SoukError('CANCELLED'));
  const begun = { startedAt: job?.processedOn ?? null, attempts: job?.attemptsStarted ?? 0 };
  const ended = await retryDuringOutage(clock, () => endCall(deps, call, { error }, begun));
  if (!ended?.endedNow) return;
  // A worker may get the job later, if it was on its way to the queue.
  await stop();
  const message = completionMessage({ callId, pool, unitsCharged: 0, error });
  await publishCompletion(redis, keys, message, job?.data.completionChannel);
}
