import pLimit from 'p-limit';
import { CACHE_LIFETIME_MS, type Source } from '../src/operations/define.ts';
import type { Clock } from '../src/platform/clock.ts';
import { SoukError } from '../src/platform/errors.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import type { StoredSource } from '../src/results/stored-source.ts';
import { TokensAwaited } from '../src/upstream/token-bucket.ts';
import type { Flight, SingleFlight } from './single-flight.ts';

/** What was obtained for one source. */
export interface Obtained {
  value: unknown;
  /** Unix milliseconds. */
  fetchedAt: number;
  /** False when it was fetched for this call, or for another that this one waited with. */
  fromCache: boolean;
  /** It is older than was asked for: upstream refuses, and it is the best there is. */
  stale?: true;
  /** What fetching it has cost upstream. */
  tokens: number;
}

export interface ObtainRequest {
  operation: string;
  callId: string;
  sources: readonly Source[];
  /** Older data will not do. 0: always ask upstream. */
  maxAgeMs: number;
  /** How long it is kept; an hour unless given. */
  lifetimeMs?: number;
  /** When the call began, Unix milliseconds. */
  startedAt: number;
  /** The job was begun before, and had to stop: any source fetched since the call began is fresh enough. */
  again: boolean;
  /** Asks upstream for several sources at once; those it has nothing for are absent from the result, by key. */
  fetch(missing: readonly Source[]): Promise<ReadonlyMap<string, unknown>>;
  /** What it has cost, on average, to fetch one of those that were fetched so far. */
  tokensEach(): number;
  /** How many sources one `fetch` may be asked for. The sources of one are kept, also when another fails. */
  atOnce: number;
  signal: AbortSignal;
  /** The flights that this call leads at the moment; kept up to date here. */
  leading: Set<Flight>;
}

export interface Sources {
  /** By key. A source that upstream has nothing for is absent. */
  obtain(request: ObtainRequest): Promise<Map<string, Obtained>>;
}

/** How long we remember that upstream has nothing; a product may appear any minute. */
const NOTHING_LIFETIME_MS = 60_000;

/** Fetches of one call under way at a time. */
const FETCHES_AT_ONCE = 4;

export function createSources(flights: SingleFlight, clock: Clock, events: CallEvents): Sources {
  return { obtain: (request) => new Obtaining(request, flights, clock, events).run() };
}

/** The sources of one call on their way. */
class Obtaining {
  readonly #request: ObtainRequest;
  readonly #flights: SingleFlight;
  readonly #clock: Clock;
  readonly #events: CallEvents;
  readonly #obtained = new Map<string, Obtained>();
  readonly #flightsByIdentity = new Map<string, Flight>();

  constructor(request: ObtainRequest, flights: SingleFlight, clock: Clock, events: CallEvents) {
    this.#request = request;
    this.#flights = flights;
    this.#clock = clock;
    this.#events = events;
  }

  async run(): Promise<Map<string, Obtained>> {
    const { sources, maxAgeMs, again } = this.#request;
    // A forced call takes nothing that was there before.
    const newerThan = maxAgeMs === 0 && !again ? Number.POSITIVE_INFINITY : this.#newerThan;
    const taken = await Promise.all(sources.map((source) => this.#take(source, newerThan)));
    const ours = sources.filter((_, i) => taken[i] === 'leads');
    const theirs = sources.filter((_, i) => taken[i] === 'follows');
    // Our own first and without waiting for others: two calls that each lead what the other follows both get on.
    await allButTokens([
      ...(ours.length > 0 ? [this.#fetch(ours)] : []),
      ...theirs.map((source) => this.#follow(source)),
    ]);
    return this.#obtained;
  }

  /** What came in since the call began will do, for a forced call too. */
  get #newerThan(): number {
    const { maxAgeMs, startedAt } = this.#request;
    return maxAgeMs === 0 ? startedAt - 1 : this.#clock.now() - maxAgeMs;
  }

  async #take(source: Source, newerThan: number): Promise<'taken' | 'leads' | 'follows'> {
    const taken = await this.#flights.take(this.#flightOf(source), newerThan);
    if (taken === 'leads') this.#request.leading.add(this.#flightOf(source));
    if (typeof taken === 'string') return taken;
    this.#keep(source, taken, taken.fetchedAt < this.#request.startedAt);
    const { operation, callId } = this.#request;
    this.#events.emit({ type: 'source.hit', operation, callId, tokens: taken.tokens });
    return 'taken';
  }

  #keep({ key }: Source, stored: StoredSource, fromCache: boolean): void {
    if (stored.value !== null) this.#obtained.set(key, { ...stored, fromCache });
  }

  /** Takes what is kept for the time when upstream refuses. @returns false when there is none, or this is another error. */
  async #takeStale(source: Source, error: unknown): Promise<boolean> {
    const { staleForMs } = source;
    if (staleForMs === undefined || !(error instanceof SoukError && error.kind === 'UPSTREAM_ERROR'))
      return false;
    const stored = await this.#flights.stored(source.identity);
    if (!stored || stored.value === null || stored.fetchedAt <= this.#clock.now() - staleForMs) return false;
    this.#obtained.set(source.key, { ...stored, fromCache: true, stale: true });
    return true;
  }

  #lifetimeMs({ staleForMs = 0 }: Source): number {
    return Math.max(this.#request.lifetimeMs ?? CACHE_LIFETIME_MS, staleForMs);
  }

  async #fetch(sources: readonly Source[]): Promise<void> {
    const { atOnce } = this.#request;
    const limit = pLimit(FETCHES_AT_ONCE);
    let noTokens = false;
    const parts = Array.from({ length: Math.ceil(sources.length / atOnce) }, (_, i) =>
      sources.slice(i * atOnce, (i + 1) * atOnce),
    );
    await allButTokens(
      parts.map((part) =>
        limit(async () => {
          if (noTokens) return this.#finish(part, {});
          try {
            await this.#fetchTogether(part);
          } catch (error) {
            noTokens ||= error instanceof TokensAwaited;
            throw error;
          }
        }),
      ),
    );
  }

  async #finish(sources: readonly Source[], outcome: { error?: SoukError }): Promise<void> {
    await Promise.all(
      sources.map(async (source) => {
        await this.#flights.finish(this.#flightOf(source), outcome);
        this.#request.leading.delete(this.#flightOf(source));
      }),
    );
  }

  async #fetchTogether(sources: readonly Source[]): Promise<void> {
    let fetched: ReadonlyMap<string, unknown>;
    try {
      fetched = await this.#request.fetch(sources);
    } catch (error) {
      // What upstream said holds for the followers too. Our own deadline does not: one of them takes over.
      const shared = error instanceof SoukError && error.kind === 'UPSTREAM_ERROR' ? { error } : {};
      await this.#finish(sources, shared);
      const stale = await Promise.all(sources.map((source) => this.#takeStale(source, error)));
      if (stale.includes(false)) throw error;
      return;
    }
    const fetchedAt = this.#clock.now();
    const tokens = this.#request.tokensEach();
    const { operation, callId } = this.#request;
    await Promise.all(
      sources.map(async (source) => {
        const stored = { value: fetched.get(source.key) ?? null, fetchedAt, tokens };
        this.#keep(source, stored, false);
        this.#events.emit({ type: 'source.miss', operation, callId });
        const lifetimeMs = stored.value === null ? NOTHING_LIFETIME_MS : this.#lifetimeMs(source);
        await this.#flights.finish(this.#flightOf(source), { fetched: stored, lifetimeMs });
        this.#request.leading.delete(this.#flightOf(source));
      }),
    );
  }

  async #follow(source: Source): Promise<void> {
    for (;;) {
      const following = this.#flights.follow(this.#flightOf(source), this.#request.signal);
      const taken = await this.#take(source, this.#newerThan);
      if (taken === 'follows') {
        const { operation, callId } = this.#request;
        this.#events.emit({ type: 'source.followed', operation, callId, identity: source.identity });
        try {
          await following.ended();
        } catch (error) {
          if (await this.#takeStale(source, error)) return;
          throw error;
        }
        continue;
      }
      following.stop();
      if (taken === 'leads') await this.#fetch([source]);
      return;
    }
  }

  #flightOf({ identity }: Source): Flight {
    const known = this.#flightsByIdentity.get(identity);
    if (known) return known;
    const flight = { identity, forced: this.#request.maxAgeMs === 0 };
    this.#flightsByIdentity.set(identity, flight);
    return flight;
  }
}

/**
 * Waits for the parts of a call. A failure ends the call at once; a part that has to wait for tokens ends it only when the
 * others have come to their end, because what they bring is paid for.
 */
async function allButTokens(parts: readonly Promise<void>[]): Promise<void> {
  const awaited: TokensAwaited[] = [];
  await Promise.all(
    parts.map((part) =>
      part.catch((error: unknown) => {
        if (!(error instanceof TokensAwaited)) throw error;
        awaited.push(error);
      }),
    ),
  );
  const [first] = awaited;
  if (first) throw first;
}
