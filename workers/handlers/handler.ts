import type { Preliminary, Source } from '../../src/operations/define.ts';
import type { InputOf, QueuedByName, QueuedName, RawOf } from '../../src/operations/index.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import type { Logger } from '../../src/platform/log.ts';
import type { KeepaTransport } from '../../src/upstream/keepa/transport.ts';
import type { Trends } from '../../src/upstream/trends/trends.ts';

/** The upstream sources a handler may ask. */
export interface Upstreams {
  keepa: KeepaTransport;
  trends: Trends;
  /** The database with the weekly reports. */
  reports: Database;
}

export interface HandlerContext {
  /** What the contract names for this input. */
  sources: readonly Source[];
  /**
   * Gets sources from the cache or from upstream, by key: `fetch` is called with those that are missing, at most
   * `atOnce` of them each time, and for each of them once in all processes. What upstream has nothing for is absent.
   */
  obtain<Raw>(
    sources: readonly Source[],
    fetch: (missing: readonly Source[]) => Promise<ReadonlyMap<string, Raw>>,
    atOnce?: number,
  ): Promise<ReadonlyMap<string, Raw>>;
  /**
   * Gets what upstream wants to be asked before it gives data: from the cache, or by `fetch`, once in all processes.
   * @param options.insteadOf what this gave before and is of no use any more: only something newer will do.
   */
  prepare<Raw extends object>(
    preliminary: Preliminary,
    fetch: () => Promise<Raw>,
    options?: { insteadOf?: Raw },
  ): Promise<Raw>;
  /** The present moment, Unix milliseconds. */
  now(): number;
  /** Says which edition of our reports the answer is made from; it is shared only while that is the newest. */
  useEdition(edition: string): void;
  /** Aborts at the deadline; to be handed to everything that waits. */
  signal: AbortSignal;
  /** Unix milliseconds. */
  deadlineAt: number;
  /** No request waits for the answer. That may change while the job runs, so it is read here and never copied. */
  readonly background: boolean;
  /** Counts the tokens that a call upstream has cost. */
  onSpent(tokens: number): void;
  upstream: Upstreams;
  log: Logger;
}

/** Gets the raw data of an operation, by the keys of its sources. */
export type Handler<Operation> = (
  input: InputOf<Operation>,
  context: HandlerContext,
) => Promise<ReadonlyMap<string, RawOf<Operation>>>;

/** The handlers of all operations of a group, by name. */
export type HandlersOf<Group extends string> = {
  [Name in Extract<QueuedName, `${Group}.${string}`>]: Handler<QueuedByName<Name>>;
};

/** The handler of an operation that needs what its contract names, and fetches several of them at once. */
export function fetching<Operation>(
  fetch: (
    input: InputOf<Operation>,
    missing: readonly Source[],
    context: HandlerContext,
  ) => Promise<ReadonlyMap<string, RawOf<Operation>>>,
  atOnce?: (input: InputOf<Operation>) => number,
): Handler<Operation> {
  return (input, context) =>
    context.obtain(context.sources, (missing) => fetch(input, missing, context), atOnce?.(input));
}

/** The handler of an operation with a single source. */
export function single<Operation>(
  fetch: (input: InputOf<Operation>, context: HandlerContext) => Promise<RawOf<Operation>>,
): Handler<Operation> {
  return fetching<Operation>(async (input, missing, context) => {
    const value = await fetch(input, context);
    return new Map(missing.map(({ key }) => [key, value]));
  });
}

/** The handler of an operation whose sources are fetched each by itself: what some bring is kept, also where another fails. */
export function fetchingEach<Operation>(
  fetch: (input: InputOf<Operation>, source: Source, context: HandlerContext) => Promise<RawOf<Operation>>,
): Handler<Operation> {
  return fetching<Operation>(
    async (input, missing, context) => {
      const fetched = missing.map(
        async (source) => [source.key, await fetch(input, source, context)] as const,
      );
      return new Map(await Promise.all(fetched));
    },
    () => 1,
  );
}
