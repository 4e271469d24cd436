import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { Control } from '../jobs/control.ts';
import { encodeJobEnded, type JobEnded } from '../jobs/job-ended.ts';
import { type Payload, payloadSchema } from '../jobs/payload.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import { POOLS, type PoolName } from '../src/operations/pools.ts';
import { type FailureBook, reasonOf } from '../src/operator/failure-book.ts';
import type { OperationBook } from '../src/operator/operation-book.ts';
import { ERRORS, SoukError, toRecord } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { OWN_ANSWER } from '../src/results/answer-store.ts';
import { TokensAwaited } from '../src/upstream/token-bucket.ts';
import { deadlineSignal } from './deadline.ts';
import { type ProduceDeps, produceAnswer, type Work } from './produce.ts';
import { createRun, type Run } from './run.ts';
import type { SingleFlight } from './single-flight.ts';

export interface ExecutorDeps extends ProduceDeps {
  redis: Redis;
  keys: RedisKeys;
  flights: Pick<SingleFlight, 'anyFollowed'>;
  settlements: Settlements;
  book: Pick<OperationBook, 'sold' | 'spent' | 'saved'>;
  failures: Pick<FailureBook, 'note'>;
  log: Logger;
}

/** One execution of a job, as the queue sees it. */
export interface Attempt {
  pool: PoolName;
  /** What the queue holds; parsed here. */
  data: unknown;
  /** From 1. */
  number: number;
  /** How long it waited for its first attempt; null for later ones. */
  waitedMs: number | null;
  /** Aborts when this process gives the job up. */
  signal: AbortSignal;
  /** Takes note of how much is done, in percent. */
  onProgress(percent: number): void;
}

export interface Executor {
  /**
   * Runs a job from start to settlement.
   * @returns how the call ended. Throws when the call could not be ended, or this process gives up; then the queue tries
   *   again.
   * @throws TokensAwaited when it has to wait for tokens and too many others wait for them here already.
   */
  execute(attempt: Attempt): Promise<JobEnded>;
  /** Does to a job what somebody wants done to it, if it runs here, now or soon. */
  control(control: Control): void;
}

/** A job that was cancelled on its way from the queue to here is not begun. */
const CANCELLED_JOBS_KNOWN = 10_000;

/**
 * Owns the hard parts of running jobs, so that a handler only fetches: the deadline and its AbortSignal, cancelling, the
 * caches and the single flight, presenting and storing, settling once, telling who waits.
 */
export function createExecutor(deps: ExecutorDeps): Executor {
  const { redis, keys, settlements, answers, flights, book, failures, clock, log } = deps;
  const runs = new Map<string, Run>();
  const pausing = new Map<PoolName, number>();
  const cancelled = new LRUCache<string, true>({ max: CANCELLED_JOBS_KNOWN });

  /**
   * A job that pauses keeps its place among those that run. Half of the places are kept for others: jobs that somebody waits
   * for must not wait for jobs that wait.
   */
  async function pause(pool: PoolName, run: Run, awaited: TokensAwaited): Promise<void> {
    if (!run.background) return;
    const others = pausing.get(pool) ?? 0;
    if (others >= POOLS[pool].concurrency / 2) throw awaited;
    pausing.set(pool, others + 1);
    try {
      await run.pause(awaited.waitMs);
    } finally {
      pausing.set(pool, (pausing.get(pool) ?? 1) - 1);
    }
  }

  async function execute({ pool, data, number, signal, onProgress }: Attempt): Promise<JobEnded> {
    const payload = payloadSchema.parse(data);
    const { accountId, callId } = payload;
    const startedAt = clock.now();
    const jobLog = log.child({ callId, operation: payload.operation });
    const run = createRun(clock, signal, payload.background);
    runs.set(callId, run);
    let result: { units: number } | SoukError;
    try {
      if (cancelled.has(callId)) throw new SoukError('CANCELLED');
      // Somebody may wait for it since it was queued.
      if (run.background && (await redis.exists(keys.joined(callId)))) run.hurry();
      const work = { pool, payload, run, startedAt, onProgress, log: jobLog };
      result = await produceInTurn(deps, work, (awaited) => pause(pool, run, awaited));
    } catch (error) {
      // This process gives the job up; another attempt may well succeed.
      if (signal.aborted || error instanceof TokensAwaited) throw error;
      result = publicError(error, jobLog);
      noteFailure(result, payload);
    } finally {
      runs.delete(callId);
      run.end();
    }

    const failure = result instanceof SoukError ? toRecord(result) : null;
    const ended = await settlements.end({
      accountId,
      callId,
      units: result instanceof SoukError ? 0 : result.units,
      answer: failure ? null : OWN_ANSWER,
      error: failure,
      startedAt,
      attempts: number,
    });
    if (ended?.endedNow && ended.state === 'settled') book.sold(payload.operation, ended.unitsCharged);
    // A call that had ended before (it was released, or its answer is being made again) stays as it ended. When an attempt
    // fails after another has settled the call, the answer of that one stands.
    const stands = failure !== null && ended?.state === 'settled' && (await answers.load(callId, OWN_ANSWER));
    const error = stands ? null : failure;
    const news: JobEnded = {
      callId,
      pool,
      state: error ? 'released' : 'settled',
      unitsCharged: ended?.unitsCharged ?? 0,
      error,
      durationMs: clock.now() - startedAt - run.pausedMs,
    };
    // Whoever has released it in the meantime, and not this attempt, says why: it was cancelled, or its time was over.
    if (ended && !ended.endedNow && ended.state === 'released') return news;
    // Not awaited: whoever misses the news looks the call up.
    redis.publish(keys.jobsChannel, encodeJobEnded(news)).catch((error: unknown) => {
      jobLog.warn({ err: error }, 'telling the end of a job failed');
    });
    return news;
  }

  /** What the customer is not told. Whoever only shares a failure has no more to tell. */
  function noteFailure(
    { kind, metadata, cause }: SoukError,
    { callId, accountId, operation }: Payload,
  ): void {
    if (cause === undefined || (kind !== 'INTERNAL' && kind !== 'UPSTREAM_ERROR')) return;
    const errorId = typeof metadata?.errorId === 'string' ? metadata.errorId : undefined;
    const { code } = ERRORS[kind];
    failures.note({ code, place: operation, errorId, callId, accountId, reason: reasonOf(cause) });
  }

  return {
    execute,
    control({ action, callId }) {
      if (action === 'hurry') {
        runs.get(callId)?.hurry();
        return;
      }
      cancelled.set(callId, true);
      runs
        .get(callId)
        ?.cancel(flights)
        .catch((error: unknown) => log.warn({ err: error, callId }, 'cancelling a job failed'));
    },
  };
}

/** Lets a job in the background begin again whenever it had to wait for tokens; meanwhile it holds nothing others want. */
async function produceInTurn(
  deps: ExecutorDeps,
  work: Work,
  pause: (awaited: TokensAwaited) => Promise<void>,
): Promise<{ units: number }> {
  const { clock } = deps;
  const { pool, payload, run } = work;
  for (let again = false; ; again = true) {
    const endsAt = Math.min(clock.now() + POOLS[pool].timeoutMs, payload.deadlineAt);
    const deadline = deadlineSignal(clock, endsAt, run.signal);
    let awaited: TokensAwaited;
    try {
      return await produceAnswer(deps, work, deadline, again);
    } catch (error) {
      if (!(error instanceof TokensAwaited)) throw error;
      awaited = error;
    } finally {
      deadline.end();
    }
    if (clock.now() + awaited.waitMs > payload.deadlineAt)
      throw new SoukError('BUSY', { message: 'The data provider allows no more calls before the deadline.' });
    await pause(awaited);
  }
}

function publicError(error: unknown, log: Logger): SoukError {
  if (error instanceof SoukError) {
    if (error.kind === 'INTERNAL') log.error({ err: error.cause ?? error }, 'job failed');
    return error;
  }
  log.error({ err: error }, 'job failed');
  return new SoukError('INTERNAL', { cause: error });
}
