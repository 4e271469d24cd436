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

/**
 * @param onMessage receives the messages that belong to no attempt.
 * @param file the program of the thread.
 */
export function openLargeThread(
  setup: ThreadSetup,
  clock: Clock,
  onMessage: (message: FromThread) => void,
  file: URL = THREAD_FILE,
): LargeThread {
  const worker = new Worker(file, { workerData: setup });
  const attempts = new Map<number, RunningAttempt>();
  const post = (message: ToThread) => worker.postMessage(message);
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  let started = 0;
  let heardAt = clock.now();
  let cause: unknown = null;
  let isReady = false;
  let hasEnded = false;
  let closed: Promise<void> | undefined;

  async function close(): Promise<void> {
    if (hasEnded) return;
    // Until it has connected to its stores, which may be down, it receives nothing.
    if (!isReady) void worker.terminate();
    post({ kind: 'close' });
    const limit = setTimeout(() => void worker.terminate(), CLOSE_LIMIT_MS);
    await exited;
    clearTimeout(limit);
  }

  let cancelPing = () => {};
  const ping = () => {
    if (clock.now() - heardAt > SILENT_MS) return void worker.terminate();
    post({ kind: 'ping' });
    cancelPing = clock.after(PING_EVERY_MS, ping, 'ping of a thread');
  };
  ping();
  worker.on('error', (error) => {
    cause = error;
  });
  void exited.then(() => {
    hasEnded = true;
    cancelPing();
    // A store may have been down. The queue tries again.
    const error = isReady
      ? new ThreadEnded(attempts.size === 1, cause)
      : new Error('a thread of large jobs did not start', { cause });
    for (const { reject } of attempts.values()) reject(error);
    attempts.clear();
  });
  worker.on('message', (message: FromThread) => {
    heardAt = clock.now();
    isReady = true;
    if (message.kind === 'progress') attempts.get(message.id)?.attempt.onProgress(message.percent);
    else if (message.kind === 'ended') attempts.get(message.id)?.resolve(message.completion);
    else if (message.kind === 'failed')
      attempts
        .get(message.id)
        ?.reject(message.awaitedMs === undefined ? message.error : new TokensAwaited(message.awaitedMs));
    else onMessage(message);
  });

  return {
    get hasEnded() {
      return hasEnded;
    },
    async run(attempt) {
      if (hasEnded) throw new ThreadEnded(false, cause);
      started += 1;
      const id = started;
      const { signal, onProgress: _, ...sent } = attempt;
      const onAbort = () => post({ kind: 'stop', id, reason: String(signal.reason) });
      try {
        return await new Promise<CompletionMessage>((resolve, reject) => {
          attempts.set(id, { attempt, resolve, reject });
          post({ kind: 'run', id, attempt: sent });
          if (signal.aborted) onAbort();
          else signal.addEventListener('abort', onAbort, { once: true });
        });
      } finally {
        attempts.delete(id);
        signal.removeEventListener('abort', onAbort);
      }
    },
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
