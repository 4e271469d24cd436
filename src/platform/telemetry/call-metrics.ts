import type { Registry } from 'prom-client';
import type { CallEventSink } from './call-events.ts';
import { createTally } from './tally.ts';

/** Metrics of gateways and workers: admissions, charges, and the use of the two caches, `answers` and `sources`. */
export function createCallMetrics(registry: Registry): CallEventSink {
  const admissionsBy = createTally(registry, {
    name: 'souk_admissions_total',
    help: 'Calls by result of admission: started, cached, joined or refused.',
    labels: ['operation', 'outcome'],
  });
  const unitsSettled = createTally(registry, {
    name: 'souk_units_settled_total',
    help: 'Units charged.',
    labels: [],
  })();
  const hitsIn = createTally(registry, {
    name: 'souk_cache_hits_total',
    help: 'Cache hits: answers and sources from a cache, or shared with the fetch of another call.',
    labels: ['cache'],
  });
  const missesIn = createTally(registry, {
    name: 'souk_cache_misses_total',
    help: 'Cache misses: answers that were created, and sources that were fetched.',
    labels: ['cache'],
  });
  const tokensSaved = createTally(registry, {
    name: 'souk_upstream_tokens_saved_total',
    help: 'Tokens saved by cache hits.',
    labels: [],
  })();
  const hits = { answers: hitsIn('answers'), sources: hitsIn('sources') };
  const misses = { answers: missesIn('answers'), sources: missesIn('sources') };

  return (event) => {
    switch (event.type) {
      case 'call.started':
        admissionsBy(event.operation, 'started').value += 1;
        break;
      case 'call.cached':
        admissionsBy(event.operation, 'cached').value += 1;
        unitsSettled.value += event.units;
        break;
      case 'call.joined':
        admissionsBy(event.operation, 'joined').value += 1;
        break;
      case 'call.refused':
        admissionsBy(event.operation, 'refused').value += 1;
        break;
      case 'call.settled':
        unitsSettled.value += event.units;
        break;
      case 'answer.hit':
        hits.answers.value += 1;
        tokensSaved.value += event.tokens;
        break;
      case 'answer.miss':
        misses.answers.value += 1;
        break;
      case 'source.hit':
        hits.sources.value += 1;
        tokensSaved.value += event.tokens;
        break;
      case 'source.miss':
        misses.sources.value += 1;
        break;
      default:
    }
  };
}
