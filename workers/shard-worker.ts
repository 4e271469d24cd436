import { type Job, type Processor, Worker, type WorkerOptions } from 'bullmq';
import type { Payload } from '../jobs/payload.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { Places } from './places.ts';

/** How long a worker waits for a signal that its queue has jobs before it looks again. */
const LOOK_AGAIN_SECONDS = 5;

const PAUSE_AFTER_ERROR_MS = 500;

/** BullMQ signals a job again when it is taken, although most queues have no other one then. */
const FORGET_SIGNAL = `
  local jobs = redis.call('LLEN', KEYS[1]) + redis.call('ZCARD', KEYS[2]) + redis.call('ZCARD', KEYS[3])
  if jobs == 0 then redis.call('ZREM', KEYS[4], '0') end
  return jobs`;

/**
 * Runs the jobs of one queue in places that it shares with the workers of other queues. BullMQ's own loop has places of its own for
 * each queue. This one takes a job only when it has a place, so that a job never waits in a process that cannot run it.
 * Its commands use the connection of queues, because large bodies delay those of others.
 */
export class ShardWorker extends Worker<Payload> {
  readonly #places: Places;
  readonly #redis: Redis;
  readonly #countJobs: () => Promise<unknown>;
  readonly #held = new Set<string>();

  constructor(
    name: string,
    process: Processor<Payload>,
    { places, ...options }: Omit<WorkerOptions, 'autorun'> & { places: Places; connection: Redis },
  ) {
    super(name, process, { ...options, autorun: false });
    const { connection } = options;
    this.#places = places;
    this.#redis = connection;
    connection.defineCommand('soukForgetSignal', { numberOfKeys: 4, lua: FORGET_SIGNAL });
    const { soukForgetSignal } = connection as unknown as Record<
      string,
      (...keys: string[]) => Promise<unknown>
    >;
    const keys = ['wait', 'prioritized', 'delayed', 'marker'].map((key) => this.toKey(key));
    this.#countJobs = async () => soukForgetSignal?.apply(connection, keys);
  }

  /** The jobs that this worker has taken, and neither ended nor given back. */
  get heldJobs(): readonly string[] {
    return [...this.#held];
  }

  override async run(): Promise<void> {
    this.running = true;
    try {
      await this.startStalledCheckTimer();
      this.lockManager.start();
      // `close` waits for it.
      this.mainLoopRunning = this.#takeJobs();
      await this.mainLoopRunning;
    } finally {
      this.running = false;
    }
  }

  override async close(force = false): Promise<void> {
    const closed = super.close(force);
    this.#places.leave(this);
    await closed;
    // BullMQ does not wait for the running jobs if it fails to disconnect.
    await this.mainLoopRunning;
  }

  async #takeJobs(): Promise<void> {
    const running = new Set<Promise<void>>();
    let waitSeconds = 0;
    for (let number = 0; !this.closing; number += 1) {
      const hasWaited = waitSeconds > 0;
      const isSignalled = hasWaited && (await this.#awaitSignal(waitSeconds));
      if (!(await this.#takePlace(isSignalled))) break;
      const { job, lookAgainSeconds } = await this.#nextJob(`${this.id}:${number}`);
      waitSeconds = lookAgainSeconds;
      if (!job) {
        this.#places.release();
        continue;
      }
      const run = this.#runFrom(job).finally(() => {
        this.#places.release();
        running.delete(run);
      });
      running.add(run);
      // Most queues have one job at a time. With a needless signal, Redis would be asked twice while the job begins.
      if (hasWaited && !(await this.#hasMoreJobs())) waitSeconds = LOOK_AGAIN_SECONDS;
    }
    await Promise.all(running);
  }

  /** Waits until the queue may have jobs. @returns whether this took the signal, which then no other worker gets. */
  async #awaitSignal(seconds: number): Promise<boolean> {
    try {
      return (await this.backend.waitForJob(seconds)) !== null;
    } catch (error) {
      if (this.closing) return false;
      await this.#noteError(error);
      await this.backend.reconnectBlocking().catch((again: unknown) => this.#noteError(again));
      return false;
    }
  }

  /** Returns whether the queue has more jobs, and takes its signal back if it has none. */
  async #hasMoreJobs(): Promise<boolean> {
    try {
      return (await this.#countJobs()) !== 0;
    } catch (error) {
      await this.#noteError(error);
      return true;
    }
  }

  async #takePlace(isSignalled: boolean): Promise<boolean> {
    if (this.#places.tryTake()) return true;
    // Another process may have a place.
    if (isSignalled)
      await this.#redis.zadd(this.toKey('marker'), 0, '0').catch((error: unknown) => this.#noteError(error));
    return !this.closing && this.#places.take(this);
  }

  async #nextJob(token: string): Promise<{ job?: Job<Payload> | undefined; lookAgainSeconds: number }> {
    if (this.closing) return { lookAgainSeconds: 0 };
    try {
      const [data, id, , delayedUntil] = await this.backend.moveToActive(token, this.opts.name);
      const job = await this.nextJobFromJobData(data, id, token);
      if (job) return { job, lookAgainSeconds: 0 };
      const delaySeconds = delayedUntil ? (delayedUntil - Date.now()) / 1000 : LOOK_AGAIN_SECONDS;
      return {
        lookAgainSeconds: Math.max(this.minimumBlockTimeout, Math.min(delaySeconds, LOOK_AGAIN_SECONDS)),
      };
    } catch (error) {
      await this.#noteError(error);
      return { lookAgainSeconds: 0 };
    }
  }

  /** Runs a job, and then further jobs of this queue in the same place until another queue needs it. */
  async #runFrom(first: Job<Payload>): Promise<void> {
    const mayGoOn = () => !this.#places.isWantedByOthers(this);
    try {
      for (let job: Job<Payload> | undefined = first; job; ) job = await this.#hold(job, mayGoOn);
    } catch (error) {
      await this.#noteError(error);
    }
  }

  async #hold(job: Job<Payload>, mayGoOn: () => boolean): Promise<Job<Payload> | undefined> {
    const { id = '', token = '' } = job;
    this.#held.add(id);
    try {
      return (await this.processJob(job, token, mayGoOn)) ?? undefined;
    } finally {
      this.#held.delete(id);
    }
  }

  async #noteError(error: unknown): Promise<void> {
    if (this.closing) return;
    this.emit('error', error instanceof Error ? error : new Error(String(error)));
    await this.delay(PAUSE_AFTER_ERROR_MS);
  }
}
