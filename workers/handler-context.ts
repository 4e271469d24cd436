import {
  maxAgeMs,
  maxUpdateAgeMs,
  type Preliminary,
  type QueuedOperation,
  type Source,
} from '../src/operations/define.ts';
import { type Providers, providerOfSource } from '../src/operations/pools.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { SoukError } from '../src/platform/errors.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import type { Deadline, RunningJob } from './executor.ts';
import type { HandlerContext, Upstreams } from './handlers/handler.ts';
import type { Obtained, Sources } from './sources.ts';

export interface HandlerContextDeps {
  sources: Sources;
  upstream: Upstreams;
  providers: Providers;
  events: CallEvents;
  clock: Clock;
}

/** A job with its operation, ready for its handler. */
interface HandledJob extends RunningJob {
  operation: QueuedOperation;
  input: unknown;
  deadline: Deadline;
  /** The job was started before, and stopped to wait for tokens. */
  again: boolean;
}

/** The data that a handler has gathered. */
export interface Gathered {
  obtained: Obtained[];
  /** Whether upstream had data for each source. */
  complete: boolean;
  /** The edition of the reports that were read. */
  edition: string | null;
  tokensSpent: number;
  /** Whether this call has fetched a source from upstream. */
  hasFetched: boolean;
  /** The storing of fetched sources, which the end of the call waits for. */
  storing: Promise<void>[];
  /** The errors of sources that the answer lacks because they could not be fetched, by key. */
  failures: Map<string, SoukError>;
}

/** Creates the context of a handler. The answer is made from `gathered`. */
export function createHandlerContext(
  deps: HandlerContextDeps,
  job: HandledJob,
): { context: HandlerContext; gathered: Gathered } {
  const { operation, input, payload, run, deadline, log } = job;
  const gathered: Gathered = {
    obtained: [],
    complete: true,
    edition: null,
    tokensSpent: 0,
    hasFetched: false,
    storing: [],
    failures: new Map(),
  };
  const context: HandlerContext = {
    sources: operation.source(input),
    obtain: (sources, fetch, atOnce) => obtain(deps, job, gathered, { sources, fetch, atOnce }),
    async obtainPart(sources, fetch, atOnce) {
      if (sources.length === 0) return new Map();
      try {
        return await obtain(deps, job, gathered, { sources, fetch, atOnce });
      } catch (error) {
        if (sources.every(({ key }) => gathered.failures.has(key))) return new Map();
        throw error;
      }
    },
    prepare: createPrepare(deps, job),
    now: deps.clock.now,
    useEdition(edition) {
      gathered.edition = edition;
    },
    call: { accountId: payload.accountId, callId: payload.callId },
    onProgress: job.onProgress,
    signal: deadline.signal,
    cancelled: run.cancelled,
    deadlineAt: deadline.deadlineAt,
    get background() {
      return run.background;
    },
    onSpent(tokens) {
      gathered.tokensSpent += tokens;
      const { accountId, callId } = payload;
      deps.events.emit({ type: 'tokens.spent', operation: operation.name, accountId, callId, tokens });
    },
    upstream: deps.upstream,
    log,
  };
  return { context, gathered };
}

type Fetch<Raw> = (keys: readonly string[]) => Promise<ReadonlyMap<string, Raw>>;

/** Adds the provider to the identity of a source. */
function ofProvider<Identified extends Pick<Source, 'identity' | 'provider'>>(
  { providers }: HandlerContextDeps,
  { operation }: HandledJob,
  source: Identified,
): Identified {
  return {
    ...source,
    identity: `${providerOfSource(providers, operation, source.provider)}/${source.identity}`,
  };
}

/** Obtains sources of the answer; see `HandlerContext.obtain`. */
async function obtain<Raw>(
  deps: HandlerContextDeps,
  job: HandledJob,
  gathered: Gathered,
  wanted: { sources: readonly Source[]; fetch: Fetch<Raw>; atOnce: number | undefined },
): Promise<ReadonlyMap<string, Raw>> {
  const { operation, input, payload, run, startedAt, sourceTimes, again, deadline, onProgress } = job;
  const count = wanted.sources.length;
  const spentBefore = gathered.tokensSpent;
  let fetched = 0;
  const got = await deps.sources.obtain({
    call: { operation: operation.name, accountId: payload.accountId, callId: payload.callId },
    sources: wanted.sources.map((source) => ofProvider(deps, job, source)),
    maxAgeMs: maxAgeMs(operation, input),
    isOutdated: (value) =>
      (operation.updatedAt?.(value) ?? startedAt) <= startedAt - maxUpdateAgeMs(operation, input),
    startedAt,
    again,
    signal: deadline.signal,
    cancelled: run.cancelled,
    failures: operation.partial ? gathered.failures : null,
    atOnce: wanted.atOnce ?? Math.max(1, count),
    onStoring(storing) {
      // Prevents an unhandled rejection if it fails before the end of the call awaits it.
      storing.catch(() => {});
      gathered.storing.push(storing);
    },
    async fetch(missing) {
      sourceTimes.askedAt ??= deps.clock.now();
      const values = await wanted.fetch(missing.map(({ key }) => key));
      sourceTimes.answeredAt = deps.clock.now();
      gathered.hasFetched = true;
      fetched += missing.length;
      // A job that fetches everything in one request has no progress to report.
      if (fetched < count && missing.length < count) onProgress(Math.floor((100 * fetched) / count));
      return values;
    },
    tokensEach: () => (gathered.tokensSpent - spentBefore) / Math.max(1, fetched),
  });
  gathered.complete &&= got.size === count;
  gathered.obtained.push(...got.values());
  return new Map([...got].map(([key, { value }]) => [key, value as Raw]));
}

/** Creates `HandlerContext.prepare`, which remembers the age of each value it returned. */
function createPrepare(deps: HandlerContextDeps, job: HandledJob): HandlerContext['prepare'] {
  const { sources, clock } = deps;
  const { operation, payload, run, deadline } = job;
  const preparedAt = new WeakMap<object, number>();
  return async <Raw extends object>(
    { freshForMs, ...preliminary }: Preliminary,
    fetch: () => Promise<Raw>,
    { insteadOf }: { insteadOf?: Raw } = {},
  ) => {
    // Another call may already have replaced the value that turned out to be useless.
    const ageMs = insteadOf && clock.now() - (preparedAt.get(insteadOf) ?? clock.now());
    const got = await sources.obtain({
      call: { operation: operation.name, accountId: payload.accountId, callId: payload.callId },
      sources: [ofProvider(deps, job, { key: '', ...preliminary })],
      maxAgeMs: ageMs ?? freshForMs,
      lifetimeMs: freshForMs,
      startedAt: clock.now(),
      again: false,
      signal: deadline.signal,
      cancelled: run.cancelled,
      failures: null,
      atOnce: 1,
      fetch: async () => new Map([['', await fetch()]]),
      tokensEach: () => 0,
    });
    const { value, fetchedAt } = got.get('') ?? {};
    if (fetchedAt !== undefined) preparedAt.set(value as Raw, fetchedAt);
    return value as Raw;
  };
}
