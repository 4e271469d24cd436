import { reopenAfterFailOver } from '../src/billing/admission-state.ts';
import { findOpenCalls, listWaitingCalls, type WaitingCall } from '../src/billing/calls.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import { expirePacks, releaseOverdue } from '../src/billing/settlement.ts';
import { POOL_NAMES } from '../src/operations/pools.ts';
import type { ServiceClock } from '../src/platform/clock.ts';
import { everyWithLease, keepLease, type Renew } from '../src/platform/db/lease.ts';
import { isClockRight } from '../src/platform/db/pool.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { Stores } from '../src/platform/stores.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { completionMessage, publishCompletion } from './end-call.ts';
import { payloadOf } from './payload.ts';
import { addJobs, type Queues } from './queues.ts';

const RECONCILE_EVERY_MS = 5_000;

const PAUSE_MS = 4_000;

interface ReconcileDeps extends Pick<Stores, 'database' | 'redis' | 'keys' | 'log'> {
  queues: Queues;
  settlements: Settlements;
  events: CallEvents;
  clock: ServiceClock;
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
 * work. The tasks have their own timers and leases, because only the second one needs Redis, and the third one may take long.
 */
export function startReconciling(deps: ReconcileDeps): () => Promise<void> {
  // The audit reads whole tables, so that several at the same time would delay each other.
  const reopen = ({ database, clock, log }: ReconcileDeps, renew: Renew) =>
    keepLease(clock, renew, () => reopenAfterFailOver(database, log));
  const tasks = { release: releaseAndExpire, requeue, reopen };
  const stops = Object.entries(tasks).map(([name, task]) =>
    everyWithLease(deps, RECONCILE_EVERY_MS, 'failed to reconcile', {
      [name]: { pauseMs: PAUSE_MS, task: (renew) => task(deps, renew) },
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
    log.info({ packId, accountId, units }, 'expired a pack');
  }
}

/** If a call is at least this old and its job is not in the queue, the job is lost. */
const SETTLED_IN_MS = 10_000;

const PAGE = 500;

/**
 * Puts the jobs of open calls back into queues that have lost them, because Redis lost its data, or a gateway died
 * between admission and queueing. A job that is still there does not change.
 * @param mayGoOn asked after each page.
 */
async function requeue(
  { database, redis, queues, clock, log }: ReconcileDeps,
  mayGoOn: Renew = async () => true,
): Promise<void> {
  if (!isClockRight(clock)) return;
  const now = clock.now();
  let lostJobs = 0;
  let page: WaitingCall[] = [];
  do {
    page = await listWaitingCalls(database, {
      acceptedBefore: now - SETTLED_IN_MS,
      deadlineAfter: now,
      after: page.at(-1) ?? null,
      limit: PAGE,
    });
    const lost = await withoutJob(redis, queues, page);
    // A job is removed after its call has ended, so those that ended meanwhile are not lost.
    const open = lost.length > 0 ? await findOpenCalls(database, lost) : [];
    for (const pool of POOL_NAMES) {
      const payloads = open.filter((call) => call.pool === pool).map((call) => payloadOf(call));
      if (payloads.length > 0) await addJobs(queues, pool, payloads);
    }
    lostJobs += open.length;
  } while (page.length === PAGE && (await mayGoOn()));
  if (lostJobs > 0) log.warn({ lostJobs }, 'put lost jobs back into their queues');
}

/** Asks Redis for all jobs in one round trip. */
async function withoutJob(
  redis: Redis,
  queues: Queues,
  calls: readonly WaitingCall[],
): Promise<WaitingCall[]> {
  const found = await Promise.all(
    calls.map(({ pool, callId }) => redis.exists(queues.of(pool).toKey(callId))),
  );
  return calls.filter((_call, i) => found[i] === 0);
}
