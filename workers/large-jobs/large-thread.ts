import { Worker } from 'node:worker_threads';
import type { CompletionMessage } from '../../jobs/end-call.ts';
import type { Clock } from '../../src/platform/clock.ts';
import { isCompiled, projectFile } from '../../src/platform/project.ts';
import { TokensAwaited } from '../../src/upstream/token-bucket.ts';
import type { Attempt } from '../executor.ts';
import type { FromThread, ThreadSetup, ToThread } from './messages.ts';

/** A thread that runs large jobs. */
export interface LargeThread {
  /** Runs a job like an executor. @throws ThreadEnded */
  run(attempt: Attempt): Promise<CompletionMessage>;
  /** Whether it has ended by itself. */
  readonly hasEnded: boolean;
  /** Does nothing more the second time. */
  close(): Promise<void>;
}

/** The thread of a job ended: it had no memory left, or did not answer. */
export class ThreadEnded extends Error {
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

interface RunningAttempt {
  attempt: Attempt;
  resolve(completion: CompletionMessage): void;
  reject(error: Error): void;
}

const THREAD_FILE = projectFile(`workers/large-jobs/thread.${isCompiled ? 'js' : 'mjs'}`);

/** Starts a thread. @param onMessage receives the messages that belong to no attempt. @param file the program of the thread. */
export function openLargeThread(
  setup: ThreadSetup,
  clock: Clock,
  onMessage: (message: FromThread) => void,
  file: URL = THREAD_FILE,
): LargeThread {
  return new JobThread(new Worker(file, { workerData: setup }), clock, onMessage);
}

class JobThread implements LargeThread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #onMessage: (message: FromThread) => void;
  readonly #exited: Promise<void>;
  readonly #attempts = new Map<number, RunningAttempt>();
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

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

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
