import type { Clock } from '../src/clock.ts';
import { SoukError } from '../src/errors.ts';
import { CACHE_LIFETIME_MS, type Source } from '../src/operations/define.ts';
import type { StoredSource } from '../src/results/stored-source.ts';
import type { Flight, SingleFlight } from './single-flight.ts';

/** What was obtained for one source. */
export interface Obtained {
  value: unknown;
  /** Unix milliseconds. */
  fetchedAt: number;
  /** False when it was fetched for this call, or for another that this one waited with. */
  fromCache: boolean;
}

export interface ObtainRequest {
  sources: readonly Source[];
  /** Older data will not do. 0: always ask upstream. */
  maxAgeMs: number;
  /** Asks upstream for several sources at once; those it has nothing for are absent from the result, by key. */
  fetch(missing: readonly Source[]): Promise<ReadonlyMap<string, unknown>>;
  signal: AbortSignal;
}

export interface Sources {
  /** By key. A source that upstream has nothing for is absent. */
  obtain(request: ObtainRequest): Promise<Map<string, Obtained>>;
}

/** How long we remember that upstream has nothing; a product may appear any minute. */
const NOTHING_LIFETIME_MS = 60_000;

export function createSources(flights: SingleFlight, clock: Clock): Sources {
  return {
    async obtain(request) {
      const call = new Obtaining(request, flights, clock);
      return call.run();
    },
  };
}

/** The sources of one call on their way. */
class Obtaining {
  readonly #request: ObtainRequest;
  readonly #flights: SingleFlight;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #obtained = new Map<string, Obtained>();

  constructor(request: ObtainRequest, flights: SingleFlight, clock: Clock) {
    this.#request = request;
    this.#flights = flights;
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  async run(): Promise<Map<string, Obtained>> {
    const { sources, maxAgeMs } = this.#request;
    // A forced call takes nothing that was there before.
    const newerThan = maxAgeMs === 0 ? Number.POSITIVE_INFINITY : this.#startedAt - maxAgeMs;
    const taken = await Promise.all(sources.map((source) => this.#take(source, newerThan)));
    const ours = sources.filter((_, i) => taken[i] === 'leads');
    const theirs = sources.filter((_, i) => taken[i] === 'follows');
    // Our own first and without waiting for others: two calls that each lead what the other follows both get on.
    await Promise.all([
      ours.length > 0 ? this.#fetch(ours) : undefined,
      ...theirs.map((source) => this.#follow(source)),
    ]);
    return this.#obtained;
  }

  async #take(source: Source, newerThan: number): Promise<'taken' | 'leads' | 'follows'> {
    const taken = await this.#flights.take(this.#flightOf(source), newerThan);
    if (typeof taken === 'string') return taken;
    this.#keep(source, taken, taken.fetchedAt < this.#startedAt);
    return 'taken';
  }

  #keep({ key }: Source, { value, fetchedAt }: StoredSource, fromCache: boolean): void {
    if (value !== null) this.#obtained.set(key, { value, fetchedAt, fromCache });
  }

  async #fetch(sources: readonly Source[]): Promise<void> {
    let fetched: ReadonlyMap<string, unknown>;
    try {
      fetched = await this.#request.fetch(sources);
    } catch (error) {
      // What upstream said holds for the followers too. Our own deadline does not: one of them takes over.
      const shared = error instanceof SoukError && error.kind === 'UPSTREAM_ERROR' ? { error } : {};
      await Promise.all(sources.map((source) => this.#flights.finish(this.#flightOf(source), shared)));
      throw error;
    }
    const fetchedAt = this.#clock.now();
    await Promise.all(
      sources.map(async (source) => {
        const stored = { value: fetched.get(source.key) ?? null, fetchedAt };
        this.#keep(source, stored, false);
        const lifetimeMs = stored.value === null ? NOTHING_LIFETIME_MS : CACHE_LIFETIME_MS;
        await this.#flights.finish(this.#flightOf(source), { fetched: stored, lifetimeMs });
      }),
    );
  }

  async #follow(source: Source): Promise<void> {
    for (;;) {
      const following = this.#flights.follow(this.#flightOf(source), this.#request.signal);
      // What came in since the call began will do, for a forced call too.
      const newerThan = this.#startedAt - Math.max(this.#request.maxAgeMs, 1);
      const taken = await this.#take(source, newerThan);
      if (taken === 'follows') {
        await following.ended();
        continue;
      }
      following.stop();
      if (taken === 'leads') await this.#fetch([source]);
      return;
    }
  }

  #flightOf({ identity }: Source): Flight {
    return { identity, forced: this.#request.maxAgeMs === 0 };
  }
}
