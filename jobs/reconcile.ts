import { expirePacks, releaseOverdue } from '../src/billing/reconciler.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import { every, type ServiceClock } from '../src/platform/clock.ts';
import { type Renew, withLease } from '../src/platform/db/lease.ts';
import { type Database, isClockRight } from '../src/platform/db/pool.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { completionMessage, publishCompletion } from './end-call.ts';
import type { Queues } from './queues.ts';
import { requeueLostJobs } from './requeue.ts';

const RECONCILE_EVERY_MS = 5_000;

/** The pause is shorter than the interval, so that no run is left out when two timers differ by some milliseconds. */
const PAUSE_MS = 4_000;

interface ReconcileDeps {
  database: Database;
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
  settlements: Settlements;
  events: CallEvents;
  clock: ServiceClock;
  log: Logger;
}

/**
 * Repairs calls of dead processes: releases overdue calls, expires packs, and puts lost jobs back. Does nothing while the
 * clock of this machine is wrong.
 */
export async function reconcile(deps: ReconcileDeps): Promise<void> {
  await releaseAndExpire(deps);
  await requeue(deps);
}

/**
 * Reconciles periodically until the process stops. Gateways and workers take part, and one process at a time does the
 * work. The two tasks have their own timers and leases, because only the second one needs Redis.
 */
export function startReconciling(deps: ReconcileDeps): () => Promise<void> {
  const tasks = { release: releaseAndExpire, requeue };
  const stops = Object.entries(tasks).map(([name, task]) =>
    every(deps.clock, RECONCILE_EVERY_MS, async () => {
      await withLease(deps.database, deps.clock, { name, pauseMs: PAUSE_MS }, (renew) =>
        task(deps, renew),
      ).catch((error) => deps.log.warn({ err: error, task: name }, 'failed to reconcile'));
    }),
  );
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

async function releaseAndExpire(deps: ReconcileDeps): Promise<void> {
  const { database, redis, keys, settlements, events, clock, log } = deps;
  if (!isClockRight(clock)) return;
  for (const call of await releaseOverdue(database, settlements, clock.now())) {
    const { callId, accountId, operation, error } = call;
    log.warn({ callId, accountId }, 'released an overdue call');
    if (error) events.emit({ type: 'call.released', operation, accountId, callId, error: error.kind });
    // Without Redis, waiting requests find the end of their calls in PostgreSQL.
    if (redis.status === 'ready')
      void publishCompletion(redis, keys, completionMessage(call), undefined).catch((failure: unknown) =>
        log.warn({ err: failure, callId }, 'failed to publish job completion'),
      );
  }
  for (const { packId, accountId, units } of await expirePacks(database, clock.now())) {
    log.info({ packId, accountId, units }, 'expired a resource pack');
  }
}

async function requeue(deps: ReconcileDeps, renew?: Renew): Promise<void> {
  const { clock, log } = deps;
  if (!isClockRight(clock)) return;
  const lostJobs = await requeueLostJobs(deps, clock.now(), renew);
  if (lostJobs > 0) log.warn({ lostJobs }, 'put lost jobs back into their queues');
}
