import pLimit from 'p-limit';
import type { CompletionMessage } from '../../jobs/end-call.ts';
import type { Payload } from '../../jobs/payload.ts';
import { QUEUED, queuedOperation } from '../../src/operations/index.ts';
import type { WorkerPoolName } from '../../src/operations/pools.ts';
import type { Clock } from '../../src/platform/clock.ts';
import type { Logger } from '../../src/platform/log.ts';
import { NoPrimary } from '../../src/platform/outage.ts';
import type { CallEvents } from '../../src/platform/telemetry/call-events.ts';
import type { Attempt } from '../executor.ts';
import type { LiveJobs, StoreErrors } from '../live-jobs.ts';
import { type LargeThread, openLargeThread, ThreadEnded } from './large-thread.ts';
import type { FromThread, ThreadSetup } from './messages.ts';

/** Returns whether the data of a job may take several megabytes. @param data its payload. */
export function isLarge(data: unknown): boolean {
  const { operation: name = '', input } = data as Partial<Payload>;
  try {
    return queuedOperation(name)?.isLarge?.(input) === true;
  } catch {
    // The input is that of another version; the executor checks it.
    return false;
  }
}

/** Returns whether a pool has operations whose data may take several megabytes. */
function hasLarge(pools: readonly WorkerPoolName[]): boolean {
  return QUEUED.some(
    (operation) => operation.isLarge && operation.pools.some((pool) => pools.includes(pool)),
  );
}

/**
 * How long after its worker a thread starts. Its start takes half a second of processor time, which the start of the worker needs
 * first.
 */
export const THREAD_STARTS_AFTER_MS = 10_000;

interface LargeJobDeps extends ThreadDeps {
  fail: LiveJobs['fail'];
  /** The pools of the worker. With large jobs among them, the thread starts before the first one. */
  pools: readonly WorkerPoolName[];
  log: Logger;
}

/** Runs large jobs in a thread of their own, so that they never block the event loop of the others. */
export function createLargeJobs(setup: ThreadSetup, deps: LargeJobDeps) {
  const { fail, pools, clock, log } = deps;
  const threads = createThreads(setup, deps);
  const oneAtATime = pLimit(1);
  const cancelStart = hasLarge(pools)
    ? clock.after(THREAD_STARTS_AFTER_MS, threads.shared, 'start of the thread of large jobs')
    : () => {};

  return {
    /** Runs a job like an executor. Starts the thread, if it does not run. */
    async execute(attempt: Attempt): Promise<CompletionMessage> {
      try {
        return await threads.shared().run(attempt);
      } catch (error) {
        // The thread of a job that is stopped may have ended because the worker ends.
        if (!(error instanceof ThreadEnded) || attempt.signal.aborted) throw error;
        log.error(
          { err: error, pool: attempt.pool, isAlone: error.wasAlone },
          'the thread of large jobs ended',
        );
        if (error.wasAlone) return fail(attempt, error);
      }
      try {
        // Any of several jobs may be the cause, so each runs again by itself.
        return await oneAtATime(() => threads.runAlone({ ...attempt, number: attempt.number + 1 }));
      } catch (error) {
        if (error instanceof ThreadEnded) return fail(attempt, error);
        throw error;
      }
    },
    async close(): Promise<void> {
      cancelStart();
      await threads.close();
    },
  };
}

interface ThreadDeps {
  events: CallEvents;
  onError: StoreErrors;
  clock: Clock;
  /** Default: `openLargeThread`. */
  openThread?: typeof openLargeThread;
}

/** The threads of a worker: one that its large jobs share, and one for each job that runs alone. */
function createThreads(
  setup: ThreadSetup,
  { events, onError, clock, openThread = openLargeThread }: ThreadDeps,
) {
  const threads = new Set<LargeThread>();
  let shared: LargeThread | null = null;

  function onMessage(message: FromThread): void {
    if (message.kind === 'event') events.emit(message.event);
    else if (message.kind === 'fault') onError[message.store](message.outage && EXAMPLES[message.outage]);
  }

  function open(): LargeThread {
    const thread = openThread(setup, clock, onMessage);
    threads.add(thread);
    return thread;
  }

  return {
    /** Returns the shared thread. Starts it, if it does not run. */
    shared(): LargeThread {
      if (shared && !shared.hasEnded) return shared;
      if (shared) threads.delete(shared);
      shared = open();
      return shared;
    },

    /** Runs a job by itself, so that the end of its thread concerns no other call. */
    async runAlone(attempt: Attempt): Promise<CompletionMessage> {
      // The job may have waited for other jobs, and the worker may have closed its threads in the meantime.
      if (attempt.signal.aborted) throw new Error(String(attempt.signal.reason));
      const thread = open();
      try {
        return await thread.run(attempt);
      } finally {
        threads.delete(thread);
        await thread.close();
      }
    },

    async close(): Promise<void> {
      await Promise.all([...threads].map((thread) => thread.close()));
    },
  };
}

/** Errors of stores, by what they mean. */
const EXAMPLES = { down: new NoPrimary(), slow: new Error('Query read timeout') };
