import { findWaitingCalls } from '../src/billing/calls.ts';
import type { Database } from '../src/platform/db/pool.ts';
import { payloadOf } from './payload.ts';
import { addJob, type Queues } from './queues.ts';

/** If the job of a call of this age is not in its queue, it is lost. */
const SETTLED_IN_MS = 10_000;

const BATCH = 500;

/**
 * Puts the jobs of open calls back into queues that have lost them, because Redis lost its data, or a gateway died
 * between admission and queueing. A job that is still there does not change.
 */
export async function requeueLostJobs(database: Database, queues: Queues, now: number): Promise<void> {
  for (const call of await findWaitingCalls(database, now - SETTLED_IN_MS, now, BATCH))
    await addJob(queues, call.pool, payloadOf(call));
}
