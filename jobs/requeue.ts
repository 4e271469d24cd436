import { findOpenCalls, listWaitingCalls, type WaitingCall } from '../src/billing/calls.ts';
import { POOL_NAMES } from '../src/operations/pools.ts';
import type { Database } from '../src/platform/db/pool.ts';
import type { Redis } from '../src/platform/redis.ts';
import { payloadOf } from './payload.ts';
import { addJobs, type Queues } from './queues.ts';

/** If a call is at least this old and its job is not in the queue, the job is lost. */
const SETTLED_IN_MS = 10_000;

const PAGE = 500;

/**
 * Puts the jobs of open calls back into queues that have lost them, because Redis lost its data, or a gateway died
 * between admission and queueing. A job that is still there does not change.
 * @param mayGoOn asked after each page.
 * @returns the number of jobs that were lost.
 */
export async function requeueLostJobs(
  { database, redis, queues }: { database: Database; redis: Redis; queues: Queues },
  now: number,
  mayGoOn: () => Promise<boolean> = async () => true,
): Promise<number> {
  let lostJobs = 0;
  let after: WaitingCall | null = null;
  for (;;) {
    const page: WaitingCall[] = await listWaitingCalls(database, {
      acceptedBefore: now - SETTLED_IN_MS,
      deadlineAfter: now,
      after,
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
    after = page.at(-1) ?? null;
    if (page.length < PAGE || !(await mayGoOn())) return lostJobs;
  }
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
