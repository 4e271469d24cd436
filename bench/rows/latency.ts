import { load, timedLoad } from '../load.ts';
import { alternate, type Comparison, latencyOf } from '../rounds.ts';
import type { Row } from '../row.ts';
import { newAsin, type Services } from '../services.ts';

const MOST_ADDED_MS = 5;
const UPSTREAM_MS = 20;
const CONNECTIONS = 50;
const WARM_UP_SECONDS = 4;

/** Measures how much longer an uncached call takes than the provider's own answer. */
export async function latencyRows(services: Services): Promise<Row[]> {
  const env = { LATENCY_MS: String(UPSTREAM_MS) };
  const upstream = await services.start('bench/instant-upstream.ts', { env });
  const { url } = await services.startSouk(upstream.ready);
  const [key = ''] = await services.keys(1);
  const ours = () => ({
    path: `/api/market/product?domain=1&asins=${newAsin()}`,
    headers: { 'x-api-key': key },
  });
  const direct = () => ({ path: `/product?domain=1&asin=${newAsin()}` });

  // First the load: it compiles the code, which single calls would take minutes to do.
  const { perSecond } = await load(url, ours, { connections: CONNECTIONS }).send(WARM_UP_SECONDS);
  const half = { connections: CONNECTIONS, perSecond: Math.round(perSecond / 2) };
  const atHalfLoad = await alternate(services, {
    ours: load(url, ours, half),
    upstream: load(upstream.ready, direct, half),
  });
  const rows = [addedRow(`half load, ${half.perSecond} calls a second`, atHalfLoad)];
  for (const connections of [4, 1]) {
    const measured = await alternate(
      services,
      {
        ours: timedLoad(url, ours, connections),
        upstream: timedLoad(upstream.ready, direct, connections),
      },
      { warmCalls: 200 },
    );
    rows.push(addedRow(`${connections} connection${connections > 1 ? 's' : ''}`, measured));
  }
  return rows;
}

function addedRow(at: string, { sides, busy }: Comparison<'ours' | 'upstream'>): Row {
  const { ours, upstream } = sides;
  const added = ours.samples.map(
    ({ p50Ms }, round) => (p50Ms - (upstream.samples[round]?.p50Ms ?? 0)) / MOST_ADDED_MS,
  );
  added.sort((a, b) => a - b);
  const ratio = (ours.median('p50Ms') - upstream.median('p50Ms')) / MOST_ADDED_MS;
  return {
    what: `uncached call at ${at}: p50 added to the provider's ${UPSTREAM_MS} ms / ${MOST_ADDED_MS} ms`,
    ours: `${latencyOf(ours)}; p50 adds ${(ratio * MOST_ADDED_MS).toFixed(1)} ms`,
    baseline: `the provider itself: ${latencyOf(upstream)}`,
    ratio,
    spread: [added[0] ?? 0, added.at(-1) ?? 0],
    aim: 'at most 1',
    busy,
    failures: ours.failures + upstream.failures,
  };
}
