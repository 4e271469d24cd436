import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { Control } from '../jobs/control.ts';
import { presentationIdOf } from '../jobs/identity.ts';
import { encodeJobEnded, type JobEnded } from '../jobs/job-ended.ts';
import { type Payload, payloadSchema } from '../jobs/payload.ts';
import { POOLS, type PoolName } from '../jobs/pools.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import type { Clock } from '../src/clock.ts';
import { SoukError, toRecord } from '../src/errors.ts';
import type { Logger } from '../src/log.ts';
import {
  CACHE_LIFETIME_MS,
  inputOn,
  maxAgeMs,
  type Preliminary,
  type QueuedOperation,
  type Source,
} from '../src/operations/define.ts';
import { type QueuedName, queuedOperation } from '../src/operations/index.ts';
import type { RedisKeys } from '../src/redis-keys.ts';
import { newVersion } from '../src/results/answer.ts';
import { type AnswerStore, OWN_ANSWER } from '../src/results/answer-store.ts';
import { TokensAwaited } from '../src/upstream/token-bucket.ts';
import { packed, present } from './content.ts';
import { type Deadline, deadlineSignal } from './deadline.ts';
import type { Handler, Upstreams } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';
import { createRun, type Run } from './run.ts';
import type { SingleFlight } from './single-flight.ts';
import type { Obtained, Sources } from './sources.ts';

export interface ExecutorDeps {
  redis: Redis;
  keys: RedisKeys;
  sources: Sources;
  flights: Pick<SingleFlight, 'anyFollowed'>;
  answers: AnswerStore;
  settlements: Settlements;
  upstream: Upstreams;
  clock: Clock;
  log: Logger;
}

/** One execution of a job, as the queue sees it. */
export interface Attempt {
  pool: PoolName;
  /** What the queue holds; parsed here. */
  data: unknown;
  /** From 1. */
  number: number;
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
  const { redis, keys, settlements, answers, flights, clock, log } = deps;
  const runs = new Map<string, Run>();
  const cancelled = new LRUCache<string, true>({ max: CANCELLED_JOBS_KNOWN });

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
      result = await produceInTurn(deps, { pool, payload, run, onProgress, log: jobLog });
    } catch (error) {
      // This process gives the job up; another attempt may well succeed.
      if (signal.aborted) throw error;
      result = publicError(error, jobLog);
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
      durationMs: clock.now() - startedAt,
    };
    // Not awaited: whoever misses the news looks the call up.
    redis.publish(keys.jobsChannel, encodeJobEnded(news)).catch((error: unknown) => {
      jobLog.warn({ err: error }, 'telling the end of a job failed');
    });
    return news;
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

/** A job that this process runs. */
interface Work {
  pool: PoolName;
  payload: Payload;
  run: Run;
  onProgress(percent: number): void;
  log: Logger;
}

/** Lets a job in the background begin again whenever it had to wait for tokens; meanwhile it holds nothing others want. */
async function produceInTurn(deps: ExecutorDeps, work: Work): Promise<{ units: number }> {
  const { clock } = deps;
  const { pool, payload, run } = work;
  for (;;) {
    const endsAt = Math.min(clock.now() + POOLS[pool].timeoutMs, payload.deadlineAt);
    const deadline = deadlineSignal(clock, endsAt, run.signal);
    let waitMs: number;
    try {
      return await produceAnswer(deps, work, deadline);
    } catch (error) {
      if (!(error instanceof TokensAwaited)) throw error;
      waitMs = error.waitMs;
    } finally {
      deadline.end();
    }
    if (clock.now() + waitMs > payload.deadlineAt)
      throw new SoukError('BUSY', { message: 'The data provider allows no more calls before the deadline.' });
    await run.pause(waitMs);
  }
}

/** Fetches, presents and stores. */
async function produceAnswer(
  deps: ExecutorDeps,
  { payload, run, onProgress, log }: Work,
  { signal, deadlineAt }: Deadline,
): Promise<{ units: number }> {
  const { clock, sources, answers, upstream } = deps;
  if (signal.aborted)
    throw new SoukError('UPSTREAM_TIMEOUT', { message: 'The call waited too long for its turn.' });
  const operation = operationOf(payload);
  const input = inputOn(operation, operation.params.parse(payload.input), clock.now());
  const handler = HANDLERS[operation.name as QueuedName] as Handler<QueuedOperation>;
  const maxAge = maxAgeMs(operation, input);
  const obtained: Obtained[] = [];
  let complete = true;
  const found = await handler(input, {
    sources: operation.source(input),
    async obtain<Raw>(
      wanted: readonly Source[],
      fetch: (missing: readonly Source[]) => Promise<ReadonlyMap<string, Raw>>,
      atOnce = Math.max(1, wanted.length),
    ) {
      let fetched = 0;
      const got = await sources.obtain({
        sources: wanted,
        maxAgeMs: maxAge,
        signal,
        leading: run.leading,
        atOnce,
        async fetch(missing) {
          const values = await fetch(missing);
          fetched += missing.length;
          // What is done in one go has nothing to tell on the way.
          if (fetched < wanted.length && missing.length < wanted.length)
            onProgress(Math.floor((100 * fetched) / wanted.length));
          return values;
        },
      });
      complete &&= got.size === wanted.length;
      obtained.push(...got.values());
      return new Map([...got].map(([key, { value }]) => [key, value as Raw]));
    },
    async prepare<Raw>(
      { identity, freshForMs }: Preliminary,
      fetch: () => Promise<Raw>,
      { anew = false } = {},
    ) {
      const got = await sources.obtain({
        sources: [{ key: '', identity }],
        maxAgeMs: anew ? 0 : freshForMs,
        lifetimeMs: freshForMs,
        signal,
        leading: run.leading,
        atOnce: 1,
        fetch: async () => new Map([['', await fetch()]]),
      });
      return got.get('')?.value as Raw;
    },
    now: clock.now,
    signal,
    deadlineAt,
    get background() {
      return run.background;
    },
    upstream,
    log,
  });

  const fetchedAt = obtained.reduce((oldest, source) => Math.min(oldest, source.fetchedAt), clock.now());
  const fromCache = obtained.length > 0 && obtained.every((source) => source.fromCache);
  const stale = obtained.some((source) => source.stale);
  const content = present(operation, input, found, {
    now: clock.now(),
    staleSince: stale ? fetchedAt : null,
  });
  const units = Math.min(content.units, payload.unitsReserved);
  const version = newVersion(fetchedAt);
  const answerWith = (cached: boolean) => packed(content, { version, fetchedAt, fromCache: cached, units });
  const own = await answerWith(fromCache);
  // What upstream had nothing for may be there in a minute, and what is too old is for this caller alone: neither is
  // shared for an hour. What a batch has put together nobody asks for again; its sources are shared all the same.
  const isShared = complete && !stale && !payload.background;
  const freshForMs = fetchedAt + CACHE_LIFETIME_MS - clock.now();
  await Promise.all([
    answers.putOwn(payload.callId, own),
    isShared &&
      answers.putShared(
        presentationIdOf(operation, input),
        fromCache ? own : await answerWith(true),
        freshForMs,
      ),
  ]);
  return { units };
}

function operationOf({ operation }: Payload): QueuedOperation {
  const found = queuedOperation(operation);
  if (!found) throw new SoukError('INTERNAL', { cause: new Error(`no operation ${operation}`) });
  return found;
}

function publicError(error: unknown, log: Logger): SoukError {
  if (error instanceof SoukError) {
    if (error.kind === 'INTERNAL') log.error({ err: error.cause ?? error }, 'job failed');
    return error;
  }
  log.error({ err: error }, 'job failed');
  return new SoukError('INTERNAL', { cause: error });
}
