import { setMaxListeners } from 'node:events';
import { setImmediate as nextImmediate } from 'node:timers/promises';
import type { Control } from '../jobs/control.ts';
import {
  type Attempts,
  type CompletionMessage,
  completionMessage,
  endCall,
  endFailedCall,
  publishCompletion,
  refundLost,
  type SourceTimes,
} from '../jobs/end-call.ts';
import { type Payload, payloadSchema } from '../jobs/payload.ts';
import { type Mode, modeOf } from '../src/accounts/authentication.ts';
import type { Ended, Settlements } from '../src/billing/settlement.ts';
import { POOLS, type PoolName } from '../src/operations/pools.ts';
import { type Clock, sleep } from '../src/platform/clock.ts';
import { ERRORS, type ErrorRecord, SoukError, toRecord } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import { recentlyUsed } from '../src/platform/recently-used.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { traced } from '../src/platform/telemetry/tracing.ts';
import { LONGEST_SLEEP_MS, TokensAwaited } from '../src/upstream/token-bucket.ts';
import { type ProduceDeps, type Produced, produceAnswer } from './produce.ts';

export type Deadline = ReturnType<typeof deadlineSignal>;

/** Returns the deadline of a job, with a signal for everything that waits: it aborts at a time of the clock, or with another signal. */
function deadlineSignal(clock: Clock, deadlineAt: number, other: AbortSignal) {
  const controller = new AbortController();
  // Each source of a large batch adds a listener.
  setMaxListeners(0, controller.signal);
  const abort = (reason: unknown) =>
    controller.abort(reason instanceof Error ? reason : new Error(String(reason)));
  const onOther = () => abort(other.reason);
  const remainingMs = deadlineAt - clock.now();
  const expired = () => abort(new SoukError('UPSTREAM_TIMEOUT'));
  const cancel = remainingMs > 0 ? clock.after(remainingMs, expired) : () => {};
  if (remainingMs <= 0) expired();
  other.addEventListener('abort', onOther, { once: true });
  return {
    signal: controller.signal,
    deadlineAt,
    /** Ends the timer. @param isComplete false aborts the requests of the call that are still under way. */
    end(isComplete: boolean): void {
      cancel();
      other.removeEventListener('abort', onOther);
      // A call that failed may have other requests under way, which nothing else would end.
      if (!isComplete) abort(new Error('the call has ended'));
    },
  };
}

/** A job that this process runs. */
export interface RunningJob {
  pool: PoolName;
  payload: Payload;
  run: Run;
  /** When the job first started, also if it has waited for tokens since; Unix milliseconds. */
  startedAt: number;
  /** Filled in by the context of the handler. */
  sourceTimes: SourceTimes;
  onProgress(percent: number): void;
  log: Logger;
}

type Run = ReturnType<typeof createRun>;

/** Stops, pauses and promotes a running job. @param signal aborts when the process stops running the job, which then returns to the queue. */
function createRun(clock: Clock, signal: AbortSignal, isBackground: boolean) {
  const cancellation = new AbortController();
  const { signal: cancelled } = cancellation;
  // Each source of a large call adds a listener.
  setMaxListeners(0, cancelled);
  let background = isBackground;
  let pausedMs = 0;
  let wake = () => {};
  return {
    signal,
    /** Aborts when the job is cancelled: nothing more is sent, and what was sent runs to its end. */
    cancelled,
    /** True if no request waits for the job. */
    get background() {
      return background;
    },
    /** Total milliseconds of pauses. */
    get pausedMs() {
      return pausedMs;
    },
    /** Waits, but ends early if a request starts to wait for the job. Rejects if the job stops. */
    async pause(durationMs: number): Promise<void> {
      if (!background) return;
      const pausedAt = clock.now();
      const promoted = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const enough = new AbortController();
      const over = AbortSignal.any([signal, cancelled, enough.signal]);
      const rested = sleep(clock, durationMs, over, 'token pause');
      // Prevents an unhandled rejection if the race ends before this rejects.
      rested.catch(() => {});
      try {
        await Promise.race([rested, promoted]);
      } finally {
        enough.abort();
        pausedMs += clock.now() - pausedAt;
      }
    },
    /** Ends the pause, because a request now waits for the job. */
    promote(): void {
      background = false;
      wake();
    },
    cancel: () => cancellation.abort(new SoukError('CANCELLED')),
  };
}

export interface ExecutorDeps extends ProduceDeps {
  redis: Redis;
  keys: RedisKeys;
  settlements: Settlements;
  /** The mode of the accounts whose jobs are run. */
  mode: Mode;
  /** The share of a pool's slots that paused jobs may have. Default: a half. */
  pausingShare?: number | undefined;
  log: Logger;
}

/** One execution of a job, as the queue sees it. */
export interface Attempt {
  pool: PoolName;
  /** The payload in the queue; parsed here. */
  data: unknown;
  /** The number of this start of the job, from 1. Starts by workers that died count, too. */
  number: number;
  /** How long the job waited for its first attempt; null for later ones. */
  waitedMs: number | null;
  /** Aborts when this process stops running the job. */
  signal: AbortSignal;
  /** Receives the progress in percent. */
  onProgress(percent: number): void;
}

export interface Executor {
  /**
   * Runs a job from start to settlement.
   * @returns how the call ended. Throws when the call could not be ended, or this process gives up; then the queue tries
   *   again.
   * @throws TokensAwaited when the job has to wait for tokens and too many other jobs of this process wait for them.
   */
  execute(attempt: Attempt): Promise<CompletionMessage>;
  /** Cancels or promotes a job, if it runs here, now or soon. */
  control(control: Control): void;
}

/** How many cancelled jobs a process knows, so that it sends nothing for one that it starts later. */
const CANCELLED_JOBS_KNOWN = 10_000;

/**
 * Runs jobs, so that a handler only fetches: deadline and AbortSignal, cancelling, caches and single flight,
 * presenting and storing, settling once, and publishing the completion message.
 */
export function createExecutor(deps: ExecutorDeps): Executor {
  const { events, tracing, clock, log } = deps;
  const runs = new Map<string, Run>();
  const pause = createPausing(deps);
  const cancelled = recentlyUsed<string, true>(CANCELLED_JOBS_KNOWN);

  function execute(attempt: Attempt): Promise<CompletionMessage> {
    const { pool, number } = attempt;
    const payload = payloadSchema.parse(attempt.data);
    const { callId, operation, accountId, traceparent: parent } = payload;
    // Their upstreams differ, so a job in the wrong pool is never run.
    if (modeOf(accountId) !== deps.mode) throw new Error(`the job ${callId} is not of the mode ${deps.mode}`);
    const attributes = { 'souk.pool': pool, 'souk.attempt': number, 'souk.job_id': callId };
    const options = { name: `job ${operation}`, kind: 'consumer', parent, attributes } as const;
    return traced(tracing, options, async (span) => {
      const ended = await runJob(payload, attempt);
      span?.set({ 'souk.state': ended.state });
      if (ended.error) span?.fail(ended.error.kind);
      return ended;
    });
  }

  /** Runs a job and ends its call, whether it succeeds or fails. */
  async function runJob(payload: Payload, attempt: Attempt): Promise<CompletionMessage> {
    const { callId, operation, background, completionChannel } = payload;
    const { pool, number, waitedMs, signal, onProgress } = attempt;
    const startedAt = clock.now();
    const run = createRun(clock, signal, background);
    const sourceTimes: SourceTimes = { askedAt: null, answeredAt: null };
    const begunAt = payload.begunAt ?? startedAt;
    const ofJob = { pool, payload, run, startedAt: begunAt, sourceTimes, onProgress };
    const job = { ...ofJob, log: log.child({ callId, operation }) };
    const ids = idsOf(job);
    events.emit({ type: 'job.started', ...ids, attempt: number, waitedMs });
    run.cancelled.addEventListener('abort', () => events.emit({ type: 'job.cancelled', ...ids }));
    runs.set(callId, run);
    if (cancelled.has(callId)) run.cancel();
    let result: Produced | SoukError;
    try {
      result = await resultOf(deps, job, number > 1, pause);
    } finally {
      runs.delete(callId);
    }
    const times = { startedAt, attempts: number, pausedMs: run.pausedMs, ...sourceTimes };
    return complete(deps, { ...ids, completionChannel }, result, times);
  }

  return {
    execute,
    control({ action, callId }) {
      if (action === 'promote') {
        runs.get(callId)?.promote();
        return;
      }
      cancelled.set(callId, true);
      runs.get(callId)?.cancel();
    },
  };
}

interface JobIds {
  pool: PoolName;
  callId: string;
  accountId: number;
  operation: string;
}

function idsOf({ pool, payload: { callId, accountId, operation } }: RunningJob): JobIds {
  return { pool, callId, accountId, operation };
}

/** Pauses a job that has to wait for tokens. @throws the error, if too many other jobs of its pool are paused. */
type Pause = (job: RunningJob, awaited: TokensAwaited) => Promise<void>;

/**
 * A paused job occupies a slot among the running jobs. The other slots are reserved, so that jobs with waiting
 * requests do not wait for paused ones.
 */
function createPausing({ events, pausingShare = 1 / 2 }: ExecutorDeps): Pause {
  const pausing = new Map<PoolName, number>();
  return async (job, awaited) => {
    const { pool, run } = job;
    if (!run.background) return;
    const others = pausing.get(pool) ?? 0;
    if (others >= POOLS[pool].concurrency * pausingShare) throw awaited;
    pausing.set(pool, others + 1);
    try {
      const paused = run.pause(Math.min(awaited.waitMs, LONGEST_SLEEP_MS));
      events.emit({ type: 'job.paused', ...idsOf(job) });
      await paused;
    } finally {
      pausing.set(pool, (pausing.get(pool) ?? 1) - 1);
    }
  };
}

/**
 * Returns the answer of a job, or the error with which its call ends.
 * @throws if this process stops running the job. Another attempt may succeed.
 */
async function resultOf(
  deps: ExecutorDeps,
  job: RunningJob,
  isRetried: boolean,
  pause: Pause,
): Promise<Produced | SoukError> {
  const { payload, run, log } = job;
  try {
    await catchUp(deps, job, isRetried);
    const produced = await produceInTurn(deps, job, pause);
    for (const failure of produced.failures) emitFailure(deps, failure, payload);
    return produced;
  } catch (error) {
    if (run.signal.aborted || error instanceof TokensAwaited) throw error;
    const known = publicError(error, log);
    emitFailure(deps, known, payload);
    return known;
  }
}

/** Follows what was published about a job before this process ran it. */
async function catchUp(
  { redis, keys }: ExecutorDeps,
  { payload: { callId }, run }: RunningJob,
  isRetried: boolean,
): Promise<void> {
  if (isRetried && (await redis.exists(keys.cancelled(callId)))) run.cancel();
  // A request may have joined the job since it was queued.
  if (run.background && (await redis.exists(keys.joined(callId)))) run.promote();
}

/** Restarts a background job each time it had to wait for tokens. While it waits, it holds nothing that other jobs need. */
async function produceInTurn(deps: ExecutorDeps, job: RunningJob, pause: Pause): Promise<Produced> {
  const { clock } = deps;
  const { pool, payload, run } = job;
  for (let again = payload.begunAt !== undefined; ; again = true) {
    const endsAt = Math.min(clock.now() + POOLS[pool].timeoutMs, payload.deadlineAt);
    const deadline = deadlineSignal(clock, endsAt, run.signal);
    let awaited: TokensAwaited;
    let isComplete = false;
    try {
      const produced = await produceAnswer(deps, job, deadline, again);
      isComplete = produced.failures.size === 0;
      return produced;
    } catch (error) {
      if (!(error instanceof TokensAwaited)) throw error;
      awaited = error;
    } finally {
      deadline.end(isComplete);
    }
    if (clock.now() + awaited.waitMs > payload.deadlineAt)
      throw new SoukError('BUSY', {
        message: 'The data provider allows no more calls before the deadline.',
        retryAfterSeconds: Math.ceil(awaited.waitMs / 1000),
      });
    await pause(job, awaited);
  }
}

/** Settles or releases the call of a job and publishes its end. */
async function complete(
  deps: ExecutorDeps,
  { completionChannel, ...job }: JobIds & Pick<Payload, 'completionChannel'>,
  result: Produced | SoukError,
  { pausedMs, ...attempts }: SourceTimes & { startedAt: number; attempts: number; pausedMs: number },
): Promise<CompletionMessage> {
  const { redis, keys, events, clock, log } = deps;
  const { pool, callId } = job;
  const { ended, error } = await endJob(deps, job, result, attempts);
  const unitsCharged = ended?.unitsCharged ?? 0;
  const durationMs = clock.now() - attempts.startedAt - pausedMs;
  const completion = completionMessage({ callId, pool, unitsCharged, error }, durationMs);
  const { state } = completion;
  events.emit({ type: 'job.ended', ...job, state, error: error ? error.kind : null, durationMs });
  // If the call was released meanwhile (cancelled or overdue), its completion message has already been published.
  if (ended && !ended.endedNow && ended.state === 'released') return completion;
  // The job does not wait for this: a gateway that misses the message looks the call up.
  publishCompletion(redis, keys, completion, completionChannel).catch((error: unknown) => {
    log.warn({ err: error, callId }, 'failed to publish job completion');
  });
  // The completion message is sent before the queue's next commands, so the waiting request does not wait for them.
  await nextImmediate();
  return completion;
}

/** A call that had already ended does not change, unless its answer was to be made again and cannot be, or only in part. */
async function endJob(
  deps: ExecutorDeps,
  job: JobIds,
  result: Produced | SoukError,
  attempts: Attempts,
): Promise<{ ended: Ended | null; error: ErrorRecord | null }> {
  if (result instanceof SoukError) return endFailedCall(deps, job, toRecord(result), attempts);
  const ended = await endCall(deps, job, { units: result.units, answer: result.ref }, attempts);
  const [failure] = result.failures;
  if (!failure || ended?.state !== 'settled') return { ended, error: null };
  const lacksPaid = result.answer.meta.units < (await deps.settlements.paidFor(job));
  return lacksPaid ? refundLost(deps, job, toRecord(failure)) : { ended, error: null };
}

/** Reports a failure to the operator, unless another call has shared it or the customer has caused it. */
function emitFailure({ events }: ExecutorDeps, error: SoukError, payload: Payload): void {
  const { kind, metadata, cause } = error;
  if (cause === undefined || (kind !== 'INTERNAL' && kind !== 'UPSTREAM_ERROR')) return;
  const { callId, accountId, operation: place } = payload;
  const errorId = typeof metadata?.errorId === 'string' ? metadata.errorId : undefined;
  events.emit({ type: 'failure', code: ERRORS[kind].code, place, errorId, callId, accountId, cause });
}

function publicError(error: unknown, log: Logger): SoukError {
  if (error instanceof SoukError) {
    if (error.kind === 'INTERNAL') log.error({ err: error.cause ?? error }, 'job failed');
    return error;
  }
  log.error({ err: error }, 'job failed');
  return new SoukError('INTERNAL', { cause: error });
}
