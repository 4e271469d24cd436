import { setMaxListeners } from 'node:events';
import type { Redis } from 'ioredis';
import { encodeJobEnded, type JobEnded } from '../jobs/job-ended.ts';
import { type Payload, payloadSchema } from '../jobs/payload.ts';
import { POOLS, type PoolName } from '../jobs/pools.ts';
import { presentationIdOf } from '../jobs/submit.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import type { Clock } from '../src/clock.ts';
import { SoukError, toRecord } from '../src/errors.ts';
import { stringifyJson } from '../src/json.ts';
import type { Logger } from '../src/log.ts';
import { CACHE_LIFETIME_MS, maxAgeMs, type QueuedOperation, type Source } from '../src/operations/define.ts';
import { type QueuedName, queuedOperation } from '../src/operations/index.ts';
import type { RedisKeys } from '../src/redis-keys.ts';
import { newVersion } from '../src/results/answer.ts';
import { type Answer, type AnswerStore, OWN_ANSWER } from '../src/results/answer-store.ts';
import { pack } from '../src/results/compression.ts';
import type { Handler, Upstreams } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';
import type { Obtained, Sources } from './sources.ts';

export interface ExecutorDeps {
  redis: Redis;
  keys: RedisKeys;
  sources: Sources;
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
}

/**
 * Runs a job from start to settlement. It owns the hard parts, so that a handler only fetches: the deadline and its
 * AbortSignal, the caches and the single flight, presenting and storing, settling once, telling who waits.
 * @returns how the call ended. Throws when the call could not be ended, or this process gives up; then the queue tries
 *   again.
 */
export function createExecutor(deps: ExecutorDeps): (attempt: Attempt) => Promise<JobEnded> {
  const { redis, keys, settlements, answers, clock, log } = deps;

  return async ({ pool, data, number, signal }) => {
    const payload = payloadSchema.parse(data);
    const startedAt = clock.now();
    const deadline = deadlineSignal(
      clock,
      Math.min(startedAt + POOLS[pool].timeoutMs, payload.deadlineAt),
      signal,
    );
    const jobLog = log.child({ callId: payload.callId, operation: payload.operation });
    let result: { units: number } | SoukError;
    try {
      result = await produceAnswer(deps, payload, deadline, jobLog);
    } catch (error) {
      // This process gives the job up; another attempt may well succeed.
      if (signal.aborted) throw error;
      result = publicError(error, jobLog);
    } finally {
      deadline.end();
    }

    const failure = result instanceof SoukError ? toRecord(result) : null;
    const { accountId, callId } = payload;
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
  };
}

/** Fetches, presents and stores. */
async function produceAnswer(
  deps: ExecutorDeps,
  payload: Payload,
  { signal, deadlineAt }: Deadline,
  log: Logger,
): Promise<{ units: number }> {
  const { clock, sources, answers, upstream } = deps;
  if (signal.aborted)
    throw new SoukError('UPSTREAM_TIMEOUT', { message: 'The call waited too long for its turn.' });
  const operation = operationOf(payload);
  const input = operation.params.parse(payload.input);
  const handler = HANDLERS[operation.name as QueuedName] as Handler<QueuedOperation>;
  const maxAge = maxAgeMs(operation, input);
  const obtained: Obtained[] = [];
  let complete = true;
  const found = await handler(input, {
    sources: operation.source(input),
    async obtain<Raw>(
      wanted: readonly Source[],
      fetch: (missing: readonly Source[]) => Promise<ReadonlyMap<string, Raw>>,
    ) {
      const got = await sources.obtain({ sources: wanted, maxAgeMs: maxAge, signal, fetch });
      complete &&= got.size === wanted.length;
      obtained.push(...got.values());
      return new Map([...got].map(([key, { value }]) => [key, value as Raw]));
    },
    signal,
    deadlineAt,
    background: false,
    upstream,
    log,
  });

  const fetchedAt = obtained.reduce((oldest, source) => Math.min(oldest, source.fetchedAt), clock.now());
  const fromCache = obtained.length > 0 && obtained.every((source) => source.fromCache);
  const content = present(operation, input, found, clock.now());
  const units = Math.min(content.units, payload.unitsReserved);
  const version = newVersion(fetchedAt);
  const answerWith = async (cached: boolean): Promise<Answer> => {
    const body = content.body(cached);
    const { encoding, bytes } = content.compressible
      ? await pack(body, 6)
      : { encoding: 'identity' as const, bytes: body };
    const meta = {
      version,
      contentType: content.contentType,
      encoding,
      size: body.length,
      fetchedAt,
      fromCache: cached,
      units,
    };
    return { meta, body: bytes };
  };
  const own = await answerWith(fromCache);
  // What upstream had nothing for may be there in a minute, so such an answer is not shared for an hour.
  const freshForMs = fetchedAt + CACHE_LIFETIME_MS - clock.now();
  await Promise.all([
    answers.putOwn(payload.callId, own),
    complete &&
      answers.putShared(
        presentationIdOf(operation, input),
        fromCache ? own : await answerWith(true),
        freshForMs,
      ),
  ]);
  return { units };
}

interface Content {
  contentType: string;
  compressible: boolean;
  units: number;
  /** The bytes, which say whether the data came from the cache. */
  body(fromCache: boolean): Buffer;
}

function present(
  operation: QueuedOperation,
  input: unknown,
  found: ReadonlyMap<string, unknown>,
  now: number,
): Content {
  const { respond, price } = operation;
  const units = price.quote(input);
  if (respond.type === 'png') {
    const [picture] = found.values();
    return { contentType: 'image/png', compressible: false, units, body: () => picture as Buffer };
  }
  const presented = respond.present(found, input, { now });
  // Serialised once; the two variants of a body differ in one word near its beginning.
  const rest = stringifyJson({ ...presented.data });
  const metadata = presented.metadata ? `,"metadata":${stringifyJson(presented.metadata)}` : '';
  return {
    contentType: 'application/json; charset=utf-8',
    compressible: true,
    units: price.settle ? price.settle(input, presented) : units,
    body: (fromCache) =>
      Buffer.from(
        `{"code":"0000","msg":"success","data":{"fromCache":${fromCache}${rest === '{}' ? '}' : `,${rest.slice(1)}`}${metadata}}`,
      ),
  };
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

interface Deadline {
  signal: AbortSignal;
  deadlineAt: number;
  /** Stops the clock, and whatever of the call is still under way. */
  end(): void;
}

/** A signal that aborts at a time of our clock, or with another signal. */
function deadlineSignal(clock: Clock, deadlineAt: number, other: AbortSignal): Deadline {
  const controller = new AbortController();
  // Each source of a large batch listens for itself.
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
    end() {
      cancel();
      other.removeEventListener('abort', onOther);
      // A call that failed may have left other requests under way, which nothing else would ever end.
      abort(new Error('the call has ended'));
    },
  };
}
