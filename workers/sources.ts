import type { Clock } from '../src/clock.ts';
import { SoukError } from '../src/errors.ts';
import { CACHE_LIFETIME_MS, type Source } from '../src/operations/define.ts';
import type { SourceStore } from '../src/results/source-store.ts';
import type { SingleFlight } from './single-flight.ts';

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

export function createSources(store: SourceStore, flights: SingleFlight, clock: Clock): Sources {
  return {
    async obtain(request) {
      const call = new Obtaining(request, store, flights, clock);
      return call.run();
    },
  };
}

/** The sources of one call on their way. */
class Obtaining {
  readonly #request: ObtainRequest;
  readonly #store: SourceStore;
  readonly #flights: SingleFlight;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #obtained = new Map<string, Obtained>();

  constructor(request: ObtainRequest, store: SourceStore, flights: SingleFlight, clock: Clock) {
    this.#request = request;
    this.#store = store;
    this.#flights = flights;
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  async run(): Promise<Map<string, Obtained>> {
    const missing = await this.#unless(this.#request.sources, (source) => this.#takeStored(source, false));
    const ours: Source[] = [];
    const theirs = await this.#unless(missing, async (source) => {
      const leads = await this.#lead(source, false);
      if (leads) ours.push(source);
      return leads !== null;
    });
    // Our own first and without waiting for others: two calls that each lead what the other follows both get on.
    await Promise.all([
      ours.length > 0 ? this.#fetch(ours) : undefined,
      ...theirs.map((source) => this.#follow(source)),
    ]);
    return this.#obtained;
  }

  /** The sources for which `done` is false. */
  async #unless(sources: readonly Source[], done: (source: Source) => Promise<boolean>): Promise<Source[]> {
    const results = await Promise.all(sources.map(done));
    return sources.filter((_, i) => !results[i]);
  }

  /** Takes what is stored, where it is fresh enough, or new since the call began and it has waited for that. */
  async #takeStored({ key, identity }: Source, waited: boolean): Promise<boolean> {
    const { maxAgeMs } = this.#request;
    if (maxAgeMs === 0 && !waited) return false;
    const stored = await this.#store.get(identity);
    if (!stored) return false;
    const { value, fetchedAt } = stored;
    const limitMs = value === null ? Math.min(maxAgeMs, NOTHING_LIFETIME_MS) : maxAgeMs;
    const isNew = fetchedAt >= this.#startedAt;
    if (this.#startedAt - fetchedAt >= limitMs && !(waited && isNew)) return false;
    if (value !== null) this.#obtained.set(key, { value, fetchedAt, fromCache: !isNew });
    return true;
  }

  /** True: we lead. Null: somebody else does. False: no need, it has come in meanwhile. */
  async #lead(source: Source, waited: boolean): Promise<boolean | null> {
    if (!(await this.#flights.tryLead(this.#flightOf(source)))) return null;
    if (!(await this.#takeStored(source, waited))) return true;
    await this.#flights.finish(this.#flightOf(source));
    return false;
  }

  async #fetch(sources: readonly Source[]): Promise<void> {
    let failure: SoukError | undefined;
    try {
      const fetched = await this.#request.fetch(sources);
      const fetchedAt = this.#clock.now();
      await Promise.all(
        sources.map(async ({ key, identity }) => {
          const value = fetched.get(key) ?? null;
          if (value !== null) this.#obtained.set(key, { value, fetchedAt, fromCache: false });
          await this.#store.put(
            identity,
            { value, fetchedAt },
            value === null ? NOTHING_LIFETIME_MS : CACHE_LIFETIME_MS,
          );
        }),
      );
    } catch (error) {
      // What upstream said holds for the followers too. Our own deadline does not: one of them takes over.
      if (error instanceof SoukError && error.kind === 'UPSTREAM_ERROR') failure = error;
      throw error;
    } finally {
      await Promise.all(sources.map((source) => this.#flights.finish(this.#flightOf(source), failure)));
    }
  }

  async #follow(source: Source): Promise<void> {
    for (;;) {
      const following = this.#flights.follow(this.#flightOf(source), this.#request.signal);
      const leads = await this.#lead(source, true);
      if (leads === null) {
        await following.ended();
        continue;
      }
      following.stop();
      if (leads) await this.#fetch([source]);
      return;
    }
  }

  /** A forced fetch asks upstream for more than an ordinary one, so it does not follow one. */
  #flightOf({ identity }: Source): string {
    return this.#request.maxAgeMs === 0 ? `${identity}/forced` : identity;
  }
}
