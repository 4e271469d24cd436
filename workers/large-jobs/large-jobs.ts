import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import type { CompletionMessage } from '../../jobs/end-call.ts';
import type { Payload } from '../../jobs/payload.ts';
import { QUEUED, queuedOperation } from '../../src/operations/index.ts';
import type { WorkerPoolName } from '../../src/operations/pools.ts';
import type { Clock } from '../../src/platform/clock.ts';
import type { Logger } from '../../src/platform/log.ts';
import { NoPrimary } from '../../src/platform/outage.ts';
import { isCompiled, projectFile } from '../../src/platform/project.ts';
import type { CallEvents } from '../../src/platform/telemetry/call-events.ts';
import { TokensAwaited } from '../../src/upstream/token-bucket.ts';
import type { Attempt } from '../executor.ts';
import type { LiveJobs, StoreErrors } from '../live-jobs.ts';
import type { FromThread, ThreadSetup, ToThread } from './messages.ts';

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

/** The thread of a job ended: it had no memory left, or did not answer. */
class ThreadEnded extends Error {
  /** Whether the thread ran no other job at that time. */
  readonly wasAlone: boolean;

  constructor(wasAlone: boolean, cause: unknown) {
    super('The thread of the job has ended.', { cause });
    this.wasAlone = wasAlone;
  }
}

const PING_EVERY_MS = 5_000;

/** A thread that answers no ping for this long is ended. */
const SILENT_MS = 30_000;

/** How long the connections of a thread take to close. */
const CLOSE_LIMIT_MS = 5_000;

const THREAD_FILE = projectFile(`workers/large-jobs/thread.${isCompiled ? 'js' : 'mjs'}`);

/** Starts a thread. @param onMessage receives the messages that belong to no attempt. @param file the program of the thread. */
export function openLargeThread(
  setup: ThreadSetup,
  clock: Clock,
  onMessage: (message: FromThread) => void,
  file: URL = THREAD_FILE,
): LargeThread {
  return new LargeThread(new Worker(file, { workerData: setup }), clock, onMessage);
}

/** A thread that runs large jobs. */
class LargeThread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #onMessage: (message: FromThread) => void;
  readonly #exited: Promise<void>;
  readonly #attempts = new Map<
    number,
    { attempt: Attempt; resolve(completion: CompletionMessage): void; reject(error: Error): void }
  >();
  #started = 0;
  #heardAt: number;
  #cause: unknown = null;
  #isReady = false;
  #hasEnded = false;
  #closed: Promise<void> | undefined;
  #cancelPing = () => {};

  constructor(worker: Worker, clock: Clock, onMessage: (message: FromThread) => void) {
    this.#worker = worker;
    this.#clock = clock;
    this.#onMessage = onMessage;
    this.#heardAt = clock.now();
    this.#exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.on('error', (error) => {
      this.#cause = error;
    });
    worker.on('message', (message: FromThread) => this.#receive(message));
    void this.#exited.then(() => this.#end());
    this.#ping();
  }

  /** Whether it has ended by itself. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Runs a job like an executor. @throws ThreadEnded */
  async run(attempt: Attempt): Promise<CompletionMessage> {
    if (this.#hasEnded) throw new ThreadEnded(false, this.#cause);
    this.#started += 1;
    const id = this.#started;
    const { signal, onProgress: _, ...sent } = attempt;
    const onAbort = () => this.#post({ kind: 'stop', id, reason: String(signal.reason) });
    try {
      return await new Promise<CompletionMessage>((resolve, reject) => {
        this.#attempts.set(id, { attempt, resolve, reject });
        this.#post({ kind: 'run', id, attempt: sent });
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
    } finally {
      this.#attempts.delete(id);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Does nothing more the second time. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#hasEnded) return;
    // Until it has connected to its stores, which may be down, it receives nothing.
    if (!this.#isReady) void this.#worker.terminate();
    this.#post({ kind: 'close' });
    const limit = setTimeout(() => void this.#worker.terminate(), CLOSE_LIMIT_MS);
    await this.#exited;
    clearTimeout(limit);
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #ping(): void {
    if (this.#clock.now() - this.#heardAt > SILENT_MS) return void this.#worker.terminate();
    this.#post({ kind: 'ping' });
    this.#cancelPing = this.#clock.after(PING_EVERY_MS, () => this.#ping(), 'ping of a thread');
  }

  #receive(message: FromThread): void {
    this.#heardAt = this.#clock.now();
    this.#isReady = true;
    if (!('id' in message)) {
      this.#onMessage(message);
      return;
    }
    const running = this.#attempts.get(message.id);
    if (message.kind === 'progress') running?.attempt.onProgress(message.percent);
    else if (message.kind === 'ended') running?.resolve(message.completion);
    else if (message.awaitedMs === undefined) running?.reject(message.error);
    else running?.reject(new TokensAwaited(message.awaitedMs));
  }

  /** Fails the jobs of a thread that has ended. */
  #end(): void {
    this.#hasEnded = true;
    this.#cancelPing();
    // A store may have been down. The queue tries again.
    const error = this.#isReady
      ? new ThreadEnded(this.#attempts.size === 1, this.#cause)
      : new Error('a thread of large jobs did not start', { cause: this.#cause });
    for (const { reject } of this.#attempts.values()) reject(error);
    this.#attempts.clear();
  }
}
