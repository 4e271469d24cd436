import type { Preliminary, Source } from '../../src/operations/define.ts';
import type { InputOf, QueuedByName, QueuedName, RawOf } from '../../src/operations/index.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import type { Logger } from '../../src/platform/log.ts';
import type { KeepaTransport } from '../../src/upstream/keepa/transport.ts';
import type { Trends } from '../../src/upstream/trends/trends.ts';

/** The upstream clients of a handler. */
export interface Upstreams {
  keepa: KeepaTransport;
  trends: Trends;
  /** The weekly reports of a provider, and the provider of products, whose brands were learned. */
  reports: { database: Database; provider: string; products: string };
  /** Stored files. */
  files: Database;
}

export interface HandlerContext {
  /** The sources that the contract names for this input. */
  sources: readonly Source[];
  /**
   * Returns sources from the cache or from upstream, by key. Calls `fetch` with the keys of missing sources, at most `atOnce`
   * of them each time, and once for each source in all processes. Sources without upstream data are absent.
   */
  obtain<Raw>(
    sources: readonly Source[],
    fetch: (keys: readonly string[]) => Promise<ReadonlyMap<string, Raw>>,
    atOnce?: number,
  ): Promise<ReadonlyMap<string, Raw>>;
  /** Like `obtain`, for a part of an answer that also has other parts: returns nothing if all of its sources fail. */
  obtainPart<Raw>(
    sources: readonly Source[],
    fetch: (keys: readonly string[]) => Promise<ReadonlyMap<string, Raw>>,
    atOnce?: number,
  ): Promise<ReadonlyMap<string, Raw>>;
  /**
   * Returns a preliminary value that upstream requires before it gives data: from the cache, or by `fetch`, once in
   * all processes.
   * @param options.insteadOf an earlier value that turned out to be useless; only a newer one is returned.
   */
  prepare<Raw extends object>(
    preliminary: Preliminary,
    fetch: () => Promise<Raw>,
    options?: { insteadOf?: Raw },
  ): Promise<Raw>;
  /** The present time, Unix milliseconds. */
  now(): number;
  /** Sets the edition of the reports that the answer is made from. The answer is shared only while that is the newest. */
  useEdition(edition: string): void;
  /** Aborts at the deadline. Handlers pass it to everything that waits. */
  signal: AbortSignal;
  /** Aborts when the call is cancelled: nothing more is sent upstream. */
  cancelled: AbortSignal;
  /** Unix milliseconds. */
  deadlineAt: number;
  /** The call, and the account that it is for. */
  call: { accountId: number; callId: string };
  /** Reports the progress in percent, for a handler that obtains no sources. */
  onProgress(percent: number): void;
  /** True if no request waits for the answer. This can change while the job runs, so read it here and never copy it. */
  readonly background: boolean;
  /** Counts the tokens that an upstream call has cost. */
  onSpent(tokens: number): void;
  upstream: Upstreams;
  log: Logger;
}

/** Fetches the raw data of an operation, by the keys of its sources. */
export type Handler<Operation> = (
  input: InputOf<Operation>,
  context: HandlerContext,
) => Promise<ReadonlyMap<string, RawOf<Operation>>>;

/** The handlers of all operations of a group, by name. */
export type HandlersOf<Group extends string> = {
  [Name in Extract<QueuedName, `${Group}.${string}`>]: Handler<QueuedByName<Name>>;
};

/** Creates the handler of an operation that fetches several of its sources at the same time. */
export function fetching<Operation>(
  fetch: (
    input: InputOf<Operation>,
    keys: readonly string[],
    context: HandlerContext,
  ) => Promise<ReadonlyMap<string, RawOf<Operation>>>,
  atOnce?: (input: InputOf<Operation>) => number,
): Handler<Operation> {
  return (input, context) =>
    context.obtain(context.sources, (keys) => fetch(input, keys, context), atOnce?.(input));
}

/** Creates the handler of an operation with a single source. */
export function single<Operation>(
  fetch: (input: InputOf<Operation>, context: HandlerContext) => Promise<RawOf<Operation>>,
): Handler<Operation> {
  return fetching<Operation>(async (input, keys, context) => {
    const value = await fetch(input, context);
    return new Map(keys.map((key) => [key, value]));
  });
}

/** Creates the handler of an operation that fetches its sources one by one. If one fails, the others are still stored. */
export function fetchingEach<Operation>(
  fetch: (input: InputOf<Operation>, key: string, context: HandlerContext) => Promise<RawOf<Operation>>,
): Handler<Operation> {
  return fetching<Operation>(
    async (input, keys, context) =>
      new Map(await Promise.all(keys.map(async (key) => [key, await fetch(input, key, context)] as const))),
    () => 1,
  );
}
