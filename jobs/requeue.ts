import { findWaitingCalls } from '../src/billing/calls.ts';
import type { Database } from '../src/platform/db/pool.ts';
import { payloadOf } from './payload.ts';
import { addJob, type Queues } from './queues.ts';

/** A call this old whose job is not in its queue has lost it. */
const SETTLED_IN_MS = 10_000;

const BATCH = 500;

/**
 * Puts the jobs of open calls back into queues that have lost them: Redis came back empty, or a gateway died between
 * admission and queue. A job that is still there stays as it is.
 */
export async function requeueLostJobs(database: Database, queues: Queues, now: number): Promise<void> {
  for (const call of await findWaitingCalls(database, now - SETTLED_IN_MS, now, BATCH))
    await addJob(queues, call.pool, payloadOf(call));
}
