import type { Registry } from 'prom-client';
import { createTally } from './tally.ts';

/** What the use of a cache was worth. */
export interface CacheUse {
  /** @param tokens what it had cost upstream to get what was found. */
  hit(tokens: number): void;
  miss(): void;
}

/** The two caches: `answers`, ready to be sent, and `sources`, the data that answers are made of. */
export interface CacheMetrics {
  answers: CacheUse;
  sources: CacheUse;
}

export function createCacheMetrics(registry: Registry): CacheMetrics {
  const hitsIn = createTally(registry, {
    name: 'souk_cache_hits_total',
    help: 'Answers and sources that were there already, or were being fetched by another call.',
    labels: ['cache'],
  });
  const missesIn = createTally(registry, {
    name: 'souk_cache_misses_total',
    help: 'Answers that had to be made, and sources that had to be fetched.',
    labels: ['cache'],
  });
  const saved = createTally(registry, {
    name: 'souk_upstream_tokens_saved_total',
    help: 'Tokens that it had cost to fetch what was found in a cache.',
    labels: [],
  })();
  const useOf = (cache: string): CacheUse => {
    const [hits, misses] = [hitsIn(cache), missesIn(cache)];
    return {
      hit(tokens) {
        hits.value += 1;
        saved.value += tokens;
      },
      miss() {
        misses.value += 1;
      },
    };
  };
  return { answers: useOf('answers'), sources: useOf('sources') };
}
