import { createBareAccounts } from '../bare-account.ts';
import { load, timedLoad } from '../load.ts';
import { alternate, BARE, type Comparison, cpuOf, latencyOf, type Rounds } from '../rounds.ts';
import type { Row } from '../row.ts';
import { newAsin, type Services } from '../services.ts';

const MOST_ADDED_MS = 5;
const UPSTREAM_MS = 20;
const CONNECTIONS = 50;
const WARM_UP_SECONDS = 4;

/** The bare call has the least steps that a queue and a durable account need, so it shows what of the time is Souk's own. */
type SideName = 'ours' | 'bare' | 'upstream';

/** Measures how much longer an uncached call takes than the provider's own answer. */
export async function latencyRows(services: Services): Promise<Row[]> {
  await createBareAccounts(services.database);
  const env = { LATENCY_MS: String(UPSTREAM_MS) };
  const upstream = await services.start('bench/instant-upstream.ts', { env });
  await services.start('bench/bare-worker.ts', {
    name: 'bare worker',
    env: { UPSTREAM_URL: upstream.ready },
  });
  const bare = await services.start('bench/bare-server.ts', { name: 'bare server' });
  const { url } = await services.startSouk(upstream.ready);
  const [key = ''] = await services.keys(1);
  const ours = () => ({
    path: `/api/market/product?domain=1&asins=${newAsin()}`,
    headers: { 'x-api-key': key },
  });
  const bareCall = () => ({ path: `/call?asin=${newAsin()}` });
  const direct = () => ({ path: `/product?domain=1&asin=${newAsin()}` });

  // First the load: it compiles the code, which single calls would take minutes to do.
  const { perSecond } = await load(url, ours, { connections: CONNECTIONS }).send(WARM_UP_SECONDS);
  const rate = Math.round(perSecond / 2);
  const half = { connections: CONNECTIONS, perSecond: rate };
  const rows = [
    addedRow(
      `half load, ${rate} calls a second`,
      await alternate(services, {
        ours: load(url, ours, half),
        bare: load(bare.ready, bareCall, { ...half, processes: BARE }),
        upstream: load(upstream.ready, direct, half),
      }),
    ),
  ];
  for (const connections of [4, 1]) {
    const sides = {
      ours: timedLoad(url, ours, { connections }),
      bare: timedLoad(bare.ready, bareCall, { connections, processes: BARE }),
      upstream: timedLoad(upstream.ready, direct, { connections }),
    };
    const measured = await alternate(services, sides, { warmUpSeconds: 2, warmCalls: 100 });
    rows.push(addedRow(`${connections} connection${connections > 1 ? 's' : ''}`, measured));
  }
  return rows;
}

function addedRow(at: string, { sides, busy }: Comparison<SideName>): Row {
  const { ours, bare, upstream } = sides;
  const addedBy = (side: Rounds) => side.median('p50Ms') - upstream.median('p50Ms');
  const added = ours.samples.map(
    ({ p50Ms }, round) => (p50Ms - (upstream.samples[round]?.p50Ms ?? 0)) / MOST_ADDED_MS,
  );
  added.sort((a, b) => a - b);
  return {
    what: `uncached call at ${at}: p50 added to the provider's ${UPSTREAM_MS} ms / ${MOST_ADDED_MS} ms`,
    ours: `${latencyOf(ours)}; p50 adds ${addedBy(ours).toFixed(1)} ms`,
    baseline: `the provider itself: ${latencyOf(upstream)}; bare route + BullMQ + undici + one UPDATE each way: p50 adds ${addedBy(bare).toFixed(1)} ms`,
    ratio: addedBy(ours) / MOST_ADDED_MS,
    spread: [added[0] ?? 0, added.at(-1) ?? 0],
    aim: 'at most 1',
    cpu: `${cpuOf(ours)}; bare ${cpuOf(bare)}`,
    busy,
    failures: ours.failures + bare.failures + upstream.failures,
  };
}
