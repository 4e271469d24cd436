import type { Call } from '../src/billing/calls.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import { ASYNC_QUEUE_ALLOWANCE_MS, POOLS } from '../src/operations/pools.ts';
import type { Clock } from '../src/platform/clock.ts';
import { toRecord } from '../src/platform/error-record.ts';
import { SoukError } from '../src/platform/errors.ts';
import { retryDuringOutage } from '../src/platform/outage.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { publishControl } from './control.ts';
import { completionMessage, endCall, publishCompletion } from './end-call.ts';
import type { Queues } from './queues.ts';

export interface CancelDeps {
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
  settlements: Settlements;
  events: CallEvents;
  clock: Clock;
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
