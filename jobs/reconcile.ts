import type { Redis } from 'ioredis';
import { expirePacks, releaseOverdue } from '../src/billing/reconciler.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import { every, type ServiceClock } from '../src/platform/clock.ts';
import { isClockRight } from '../src/platform/db/database-clock.ts';
import type { Database } from '../src/platform/db/pool.ts';
import type { Logger } from '../src/platform/log.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { completionMessage, publishCompletion } from './completion-message.ts';
import type { Queues } from './queues.ts';
import { requeueLostJobs } from './requeue.ts';

const RECONCILE_EVERY_MS = 5_000;

export interface ReconcileDeps {
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
 * Repairs calls of dead processes: puts lost jobs back, releases overdue calls, and expires packs. Does nothing while the
 * clock of this machine is wrong.
 */
export async function reconcile(deps: ReconcileDeps): Promise<void> {
  const { database, redis, keys, queues, settlements, events, clock, log } = deps;
  if (!isClockRight(clock)) return;
  await requeueLostJobs(database, queues, clock.now());
  for (const call of await releaseOverdue(database, settlements, clock.now())) {
    const { callId, accountId, operation, error } = call;
    log.warn({ callId, accountId }, 'released an overdue call');
    if (error) events.emit({ type: 'call.released', operation, accountId, callId, error: error.kind });
    await publishCompletion(redis, keys, completionMessage(call));
  }
  for (const { packId, accountId, units } of await expirePacks(database, clock.now())) {
    log.info({ packId, accountId, units }, 'expired a resource pack');
  }
}

/**
 * Runs the reconciler periodically until the process stops. All processes run it, because each step is idempotent.
 */
export function startReconciling(deps: ReconcileDeps): () => Promise<void> {
  return every(deps.clock, RECONCILE_EVERY_MS, () =>
    reconcile(deps).catch((error) => deps.log.warn({ err: error }, 'failed to reconcile')),
  );
}
