import type { Redis } from 'ioredis';
import type { Call } from '../src/billing/calls.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import type { Clock } from '../src/platform/clock.ts';
import { SoukError, toRecord } from '../src/platform/errors.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { retryDuringOutage } from '../src/platform/retry-during-outage.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { completionMessage, publishCompletion } from './completion-message.ts';
import { publishControl } from './control.ts';
import { endCall } from './end-call.ts';
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
 * Cancels a job: a queued job never runs, a running job stops, and all units of the call are released. A job that
 * has ended does not change.
 * @returns whether this call cancelled it.
 * @throws SoukError JOB_SHARED if other requests of the account have joined it.
 */
export async function cancelJob(deps: CancelDeps, call: Call): Promise<boolean> {
  const { redis, keys, queues, clock } = deps;
  const { callId, pool } = call;
  if (await redis.exists(keys.joined(callId))) throw new SoukError('JOB_SHARED');
  const error = toRecord(new SoukError('CANCELLED'));
  // Only the queue knows whether the job of an open call has started.
  const job = await queues[pool].getJob(callId);
  const begun = { startedAt: job?.processedOn ?? null, attempts: job?.attemptsStarted ?? 0 };
  // The release comes first, so that later work on the job cannot be charged.
  const ended = await retryDuringOutage(clock, () => endCall(deps, call, { error }, begun));
  if (!ended?.endedNow) return false;
  // A running job is locked by its worker and stays in the queue; the control message stops it.
  await queues[pool].remove(callId);
  await publishControl(redis, keys, { action: 'cancel', callId });
  await publishCompletion(redis, keys, completionMessage({ callId, pool, unitsCharged: 0, error }));
  return true;
}
