import { randomUUID } from 'node:crypto';
import { presentationIdOf } from '../jobs/identity.ts';
import type { Payload } from '../jobs/payload.ts';
import {
  CACHE_LIFETIME_MS,
  inputOn,
  maxAgeMs,
  type Preliminary,
  type QueuedOperation,
  type Source,
} from '../src/operations/define.ts';
import { type QueuedName, queuedOperation } from '../src/operations/index.ts';
import type { PoolName } from '../src/operations/pools.ts';
import type { Clock } from '../src/platform/clock.ts';
import { SoukError } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { type Tracing, traced } from '../src/platform/telemetry/tracing.ts';
import { newVersion } from '../src/results/answer.ts';
import type { AnswerStore } from '../src/results/answer-store.ts';
import { type Content, packed, present } from './content.ts';
import type { Deadline } from './deadline.ts';
import type { Handler, HandlerContext, Upstreams } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';
import type { Run } from './run.ts';
import type { Obtained, Sources } from './sources.ts';

export interface ProduceDeps {
  sources: Sources;
  answers: AnswerStore;
  upstream: Upstreams;
  events: CallEvents;
  tracing: Tracing | null;
  clock: Clock;
}

/** A job that this process runs. */
export interface Work {
  pool: PoolName;
  payload: Payload;
  run: Run;
  /** Unix milliseconds. */
  startedAt: number;
  onProgress(percent: number): void;
  log: Logger;
}

/**
 * Fetches, presents and stores the answer of a job.
 * @param again it was begun before, and had to stop for lack of tokens.
 */
export async function produceAnswer(
  deps: ProduceDeps,
  { payload, run, startedAt, onProgress, log }: Work,
  { signal, deadlineAt }: Deadline,
  again: boolean,
): Promise<{ units: number }> {
  const { clock, sources, answers, upstream, events, tracing } = deps;
  const { callId } = payload;
  if (signal.aborted)
    throw new SoukError('UPSTREAM_TIMEOUT', { message: 'The call waited too long for its turn.' });
  const operation = operationOf(payload);
  const input = inputOn(operation, operation.params.parse(payload.input), clock.now());
  const handler = HANDLERS[operation.name as QueuedName] as Handler<QueuedOperation>;
  const maxAge = maxAgeMs(operation, input);
  const obtained: Obtained[] = [];
  const preparedAt = new WeakMap<object, number>();
  let complete = true;
  let edition: string | null = null;
  let tokensSpent = 0;
  const context: HandlerContext = {
    sources: operation.source(input),
    async obtain<Raw>(
      wanted: readonly Source[],
      fetch: (missing: readonly Source[]) => Promise<ReadonlyMap<string, Raw>>,
      atOnce = Math.max(1, wanted.length),
    ) {
      let fetched = 0;
      const spentBefore = tokensSpent;
      const got = await sources.obtain({
        operation: operation.name,
        callId,
        sources: wanted,
        maxAgeMs: maxAge,
        startedAt,
        again,
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
        tokensEach: () => (tokensSpent - spentBefore) / Math.max(1, fetched),
      });
      complete &&= got.size === wanted.length;
      obtained.push(...got.values());
      return new Map([...got].map(([key, { value }]) => [key, value as Raw]));
    },
    async prepare<Raw extends object>(
      { identity, freshForMs }: Preliminary,
      fetch: () => Promise<Raw>,
      { insteadOf }: { insteadOf?: Raw } = {},
    ) {
      // Others may have found out before that it is of no use, and have replaced it already.
      const ageMs = insteadOf && clock.now() - (preparedAt.get(insteadOf) ?? clock.now());
      const got = await sources.obtain({
        operation: operation.name,
        callId,
        sources: [{ key: '', identity }],
        maxAgeMs: ageMs ?? freshForMs,
        lifetimeMs: freshForMs,
        startedAt: clock.now(),
        again: false,
        signal,
        leading: run.leading,
        atOnce: 1,
        fetch: async () => new Map([['', await fetch()]]),
        tokensEach: () => 0,
      });
      const { value, fetchedAt } = got.get('') ?? {};
      if (fetchedAt !== undefined) preparedAt.set(value as Raw, fetchedAt);
      return value as Raw;
    },
    now: clock.now,
    useEdition(used) {
      edition = used;
    },
    signal,
    deadlineAt,
    get background() {
      return run.background;
    },
    onSpent(tokens) {
      tokensSpent += tokens;
      events.emit({ type: 'tokens.spent', operation: operation.name, callId, tokens });
    },
    upstream,
    log,
  };
  const found = await traced(tracing, { name: `handle ${operation.name}`, kind: 'internal' }, () =>
    handler(input, context),
  );

  const fetchedAt = obtained.reduce((oldest, source) => Math.min(oldest, source.fetchedAt), clock.now());
  const fromCache = obtained.length > 0 && obtained.every((source) => source.fromCache);
  const stale = obtained.some((source) => source.stale);
  const content = presentable(log, () =>
    present(operation, input, found, { now: clock.now(), staleSince: stale ? fetchedAt : null }),
  );
  const units = Math.min(content.units, payload.unitsReserved);
  const version = newVersion(fetchedAt);
  const tokens = obtained.reduce((sum, source) => sum + source.tokens, 0);
  const answerOf = await packed(content);
  const answerWith = (cached: boolean) => answerOf({ version, fetchedAt, fromCache: cached, units, tokens });
  // What upstream had nothing for may be there in a minute, and what is too old is for this caller alone: neither is
  // shared for an hour. What a batch has put together nobody asks for again; its sources are shared all the same.
  const isShared = complete && !stale && !payload.background;
  const freshForMs = fetchedAt + CACHE_LIFETIME_MS - clock.now();
  const own = answerWith(fromCache);
  const shared = fromCache || !isShared ? own : answerWith(true);
  await Promise.all([
    answers.putOwn(payload.callId, own),
    isShared && answers.putShared(presentationIdOf(operation, input, edition), shared, freshForMs),
  ]);
  return { units };
}

/** Presenting only reads what upstream sent; what it cannot read is malformed in a way that nobody has thought of. */
function presentable(log: Logger, presenting: () => Content): Content {
  try {
    return presenting();
  } catch (cause) {
    if (cause instanceof SoukError) throw cause;
    const errorId = randomUUID();
    log.error({ err: cause, errorId }, 'an answer of the data provider cannot be presented');
    throw new SoukError('UPSTREAM_ERROR', { metadata: { errorId }, cause });
  }
}

function operationOf({ operation }: Payload): QueuedOperation {
  const found = queuedOperation(operation);
  if (!found) throw new SoukError('INTERNAL', { cause: new Error(`no operation ${operation}`) });
  return found;
}
