import pLimit from 'p-limit';
import { CACHE_LIFETIME_MS, type Source } from '../src/operations/define.ts';
import type { Clock } from '../src/platform/clock.ts';
import { MINUTE_MS } from '../src/platform/durations.ts';
import { type ErrorKind, SoukError } from '../src/platform/errors.ts';
import type { CallEvents, OfSource } from '../src/platform/telemetry/call-events.ts';
import type { StoredSource } from '../src/results/cache.ts';
import { RequestRejected } from '../src/upstream/http-client.ts';
import { TokensAwaited } from '../src/upstream/token-bucket.ts';
import type { Flight, SingleFlight } from './single-flight.ts';

/** The result for one source. */
export interface Obtained {
  value: unknown;
  /** Unix milliseconds. */
  fetchedAt: number;
  /** False if it was fetched for this call, or for another call that this one followed. */
  fromCache: boolean;
  /** True if it is older than requested, because upstream refuses and no newer data exists. */
  stale?: true;
  /** Tokens that the fetch has cost. */
  tokens: number;
}

interface ObtainRequest {
  call: OfSource;
  sources: readonly Source[];
  /** Only data up to this age is accepted. 0 always fetches from upstream. */
  maxAgeMs: number;
  /** Returns whether the provider updated cached data too long ago. The call fetches it again, and accepts what it receives. */
  isOutdated?(value: unknown): boolean;
  /** How long the data is kept, unless a source has a time of its own. Default: one hour. */
  lifetimeMs?: number;
  /** When the call started, Unix milliseconds. */
  startedAt: number;
  /** The job was started before and stopped, so sources that were fetched since the start of the call are fresh enough. */
  again: boolean;
  /** Fetches several sources from upstream, by key; sources without data are absent from the result. */
  fetch(missing: readonly Source[]): Promise<ReadonlyMap<string, unknown>>;
  /** Receives the storing of what was fetched, so that the call goes on meanwhile. Without it, the call waits. */
  onStoring?(storing: Promise<void>): void;
  /** Returns the mean cost of the sources that were fetched so far. */
  tokensEach(): number;
  /** The highest number of sources for one `fetch`. Its results are stored even if another `fetch` fails. */
  atOnce: number;
  signal: AbortSignal;
  /** Aborts with CANCELLED when the call is cancelled. Fetches that have started run to their end. */
  cancelled: AbortSignal;
  /**
   * Receives the errors of the sources that could not be fetched, by key, if there is data about others. null if an answer
   * without them is of no use: then the first error is thrown.
   */
  failures: Map<string, SoukError> | null;
}

export interface Sources {
  /** Returns sources by key. Sources without upstream data are absent. */
  obtain(request: ObtainRequest): Promise<Map<string, Obtained>>;
}

/** How long missing data is remembered; a product may appear at any time. */
const NOTHING_LIFETIME_MS = MINUTE_MS;

/** Concurrent fetches of one call. */
const FETCHES_AT_ONCE = 4;

/** How often a call divides a request that the provider rejected, into two requests each time. Seven divisions find one source among a hundred. */
const MOST_DIVISIONS = 20;

/** Errors that a source can have while others have data. */
const SOURCE_ERRORS: ReadonlySet<ErrorKind> = new Set([
  ...(['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'BUSY', 'CANCELLED'] as const),
]);

export function createSources(flights: SingleFlight, clock: Clock, events: CallEvents): Sources {
  return { obtain: (request) => new Obtaining(request, flights, clock, events).run() };
}

/** Obtains the sources of one call. */
class Obtaining {
  readonly #request: ObtainRequest;
  readonly #flights: SingleFlight;
  readonly #clock: Clock;
  readonly #events: CallEvents;
  readonly #obtained = new Map<string, Obtained>();
  /** The keys of the sources that upstream or the cache has answered, also without data. */
  readonly #answered = new Set<string>();
  #hasFetched = false;
  #hasNoTokens = false;
  #divisions = 0;
  readonly #limit = pLimit(FETCHES_AT_ONCE);
  readonly #flightsByIdentity = new Map<string, Flight>();

  constructor(request: ObtainRequest, flights: SingleFlight, clock: Clock, events: CallEvents) {
    this.#request = request;
    this.#flights = flights;
    this.#clock = clock;
    this.#events = events;
  }

  async run(): Promise<Map<string, Obtained>> {
    const { sources, maxAgeMs, again } = this.#request;
    // A forced call accepts no data from before the call.
    const newerThan = maxAgeMs === 0 && !again ? Number.POSITIVE_INFINITY : this.#newerThan;
    const taken = await this.#takeAll(sources, newerThan);
    const ours = sources.filter((_, i) => taken[i] === 'leads');
    const theirs = sources.filter((_, i) => taken[i] === 'follows');
    // Fetches the sources that this call leads before it waits for the sources of other leaders, so that two calls that
    // wait for each other's sources do not deadlock.
    await allParts([
      ...(ours.length > 0 ? [this.#fetch(ours)] : []),
      ...theirs.map((source) => this.#follow(source)),
    ]);
    this.#requireData();
    return this.#obtained;
  }

  /** Takes sources. If one cannot be looked up, the others that this call leads end, because they would be renewed for ever. */
  async #takeAll(sources: readonly Source[], newerThan: number) {
    const taking = await Promise.allSettled(sources.map((source) => this.#take(source, newerThan)));
    const failed = taking.find((one) => one.status === 'rejected');
    if (!failed) return taking.map((one) => (one.status === 'fulfilled' ? one.value : null));
    const led = sources.filter((_, i) => {
      const one = taking[i];
      return one?.status === 'fulfilled' && one.value === 'leads';
    });
    await this.#finish(led, {}).catch(() => {});
    throw failed.reason;
  }

  /** Records the error of sources that the answer can lack. @throws the error, if it ends the call. */
  #leaveOut(sources: readonly Source[], error: unknown): void {
    const { failures, signal } = this.#request;
    // When the process stops, the reason of the signal is not a deadline.
    const isStopped = signal.aborted && !(signal.reason instanceof SoukError);
    if (!failures || isStopped || !(error instanceof SoukError && SOURCE_ERRORS.has(error.kind))) throw error;
    for (const { key } of sources) if (!this.#answered.has(key)) failures.set(key, error);
  }

  /** @throws the first error of a source, if there is no data. A cancelled call has data only if it has fetched some. */
  #requireData(): void {
    const { sources, failures, cancelled } = this.#request;
    // Other parts of the call may have failures as well.
    const first = sources.map(({ key }) => failures?.get(key)).find((error) => error !== undefined);
    if (!first) return;
    if (cancelled.aborted && !this.#hasFetched) throw cancelled.reason;
    if (this.#answered.size === 0) throw first;
  }

  /** Data fetched since the start of the call is fresh enough, also for a forced call. */
  get #newerThan(): number {
    const { maxAgeMs, startedAt } = this.#request;
    return maxAgeMs === 0 ? startedAt - 1 : this.#clock.now() - maxAgeMs;
  }

  async #take(source: Source, newerThan: number): Promise<'taken' | 'leads' | 'follows'> {
    const { call, startedAt, again } = this.#request;
    const flight = this.#flightOf(source);
    let taken = await this.#flights.take(flight, newerThan);
    if (typeof taken !== 'string' && this.#isOutdated(taken))
      taken = await this.#flights.take(flight, taken.fetchedAt);
    if (typeof taken === 'string') return taken;
    const isMerged = taken.fetchedAt >= startedAt;
    this.#keep(source, taken, !isMerged);
    // A call that runs again has counted its sources, or has fetched them itself.
    if (!again) this.#events.emit({ type: 'source.hit', ...call, tokens: taken.tokens, isMerged });
    return 'taken';
  }

  #isOutdated({ value, fetchedAt }: StoredSource): boolean {
    const { startedAt, isOutdated } = this.#request;
    return value !== null && fetchedAt < startedAt && isOutdated?.(value) === true;
  }

  #keep({ key }: Source, stored: StoredSource, fromCache: boolean): void {
    this.#answered.add(key);
    if (stored.value !== null) this.#obtained.set(key, { ...stored, fromCache });
  }

  /** Uses stale data while upstream refuses. @returns false if there is none, or the error is another one. */
  async #takeStale(source: Source, error: unknown): Promise<boolean> {
    const { staleForMs } = source;
    if (staleForMs === undefined || !(error instanceof SoukError && error.kind === 'UPSTREAM_ERROR'))
      return false;
    const stored = await this.#flights.stored(this.#flightOf(source));
    if (!stored || stored.value === null || stored.fetchedAt < this.#clock.now() - staleForMs) return false;
    this.#obtained.set(source.key, { ...stored, fromCache: true, stale: true });
    return true;
  }

  #lifetimeMs({ keptForMs }: Source): number {
    return keptForMs ?? this.#request.lifetimeMs ?? CACHE_LIFETIME_MS;
  }

  async #fetch(sources: readonly Source[]): Promise<void> {
    const { atOnce } = this.#request;
    const parts = Array.from({ length: Math.ceil(sources.length / atOnce) }, (_, i) =>
      sources.slice(i * atOnce, (i + 1) * atOnce),
    );
    await allParts(parts.map((part) => this.#fetchTogether(part)));
  }

  async #finish(sources: readonly Source[], outcome: { error?: SoukError }): Promise<void> {
    await Promise.all(sources.map((source) => this.#flights.finish(this.#flightOf(source), outcome)));
  }

  async #fetchTogether(sources: readonly Source[]): Promise<void> {
    let fetched: ReadonlyMap<string, unknown> | null;
    try {
      // Without tokens, nothing more is sent.
      fetched = await this.#limit(() => (this.#hasNoTokens ? null : this.#request.fetch(sources)));
    } catch (error) {
      return this.#mayDivide(sources, error) ? this.#fetchHalves(sources) : this.#fail(sources, error);
    }
    if (fetched) await this.#store(sources, fetched);
    else await this.#finish(sources, {});
  }

  /** The provider does not say which source of a rejected request is the cause. */
  #mayDivide(sources: readonly Source[], error: unknown): boolean {
    if (!(error instanceof RequestRejected) || !this.#request.failures) return false;
    if (sources.length === 1 || this.#divisions === MOST_DIVISIONS) return false;
    this.#divisions += 1;
    return true;
  }

  async #fetchHalves(sources: readonly Source[]): Promise<void> {
    const middle = Math.ceil(sources.length / 2);
    await allParts(
      [sources.slice(0, middle), sources.slice(middle)].map((half) => this.#fetchTogether(half)),
    );
  }

  async #fail(sources: readonly Source[], error: unknown): Promise<void> {
    this.#hasNoTokens ||= error instanceof TokensAwaited;
    // Followers share an error of upstream. They do not share our own deadline: one of them takes over.
    const shared = error instanceof SoukError && error.kind === 'UPSTREAM_ERROR' ? { error } : {};
    await this.#finish(sources, shared);
    const stale = await Promise.all(sources.map((source) => this.#takeStale(source, error)));
    const failed = sources.filter((_, i) => !stale[i]);
    if (failed.length > 0) this.#leaveOut(failed, error);
  }

  async #store(sources: readonly Source[], fetched: ReadonlyMap<string, unknown>): Promise<void> {
    this.#hasFetched = true;
    const fetchedAt = this.#clock.now();
    const tokens = this.#request.tokensEach();
    const { call, onStoring } = this.#request;
    const storing = Promise.all(
      sources.map(async (source) => {
        const stored = { value: fetched.get(source.key) ?? null, fetchedAt, tokens };
        this.#keep(source, stored, false);
        this.#events.emit({ type: 'source.miss', ...call });
        const lifetimeMs = stored.value === null ? NOTHING_LIFETIME_MS : this.#lifetimeMs(source);
        await this.#flights.finish(this.#flightOf(source), { fetched: stored, lifetimeMs });
      }),
    ).then(() => {});
    if (!onStoring) return storing;
    onStoring(storing);
  }

  async #follow(source: Source): Promise<void> {
    const { call, signal, cancelled } = this.#request;
    const stop = AbortSignal.any([signal, cancelled]);
    for (;;) {
      const following = this.#flights.follow(this.#flightOf(source), stop);
      const taken = await this.#take(source, this.#newerThan);
      if (taken === 'follows') {
        this.#events.emit({ type: 'source.followed', ...call, identity: source.identity });
        try {
          await following.ended();
        } catch (error) {
          if (!(await this.#takeStale(source, error))) this.#leaveOut([source], error);
          return;
        }
        continue;
      }
      following.stop();
      if (taken === 'leads') await this.#fetch([source]);
      return;
    }
  }

  #flightOf({ identity, read }: Source): Flight {
    const known = this.#flightsByIdentity.get(identity);
    if (known) return known;
    const flight = { identity, forced: this.#request.maxAgeMs === 0, read };
    this.#flightsByIdentity.set(identity, flight);
    return flight;
  }
}

/**
 * Waits for the parts of a call. Most errors end the call immediately. If a part has to wait for tokens, or was not sent
 * because the call was cancelled, the call ends only after its other parts, because their data is already paid for.
 */
export async function allParts<Part>(parts: readonly Promise<Part>[]): Promise<Part[]> {
  const unsent: unknown[] = [];
  const results = await Promise.all(
    parts.map((part) =>
      part.catch((error: unknown) => {
        if (!(error instanceof TokensAwaited || isCancelled(error))) throw error;
        unsent.push(error);
      }),
    ),
  );
  if (unsent.length > 0) throw unsent.find(isCancelled) ?? unsent[0];
  return results as Part[];
}

function isCancelled(error: unknown): boolean {
  return error instanceof SoukError && error.kind === 'CANCELLED';
}
