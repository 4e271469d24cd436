import { extent, median } from 'd3-array';
import { createBareAccounts } from '../bare-account.ts';
import { load, timedLoad } from '../load.ts';
import { alternate, BARE, type Comparison, cpuOf, latencyOf, type Rounds } from '../rounds.ts';
import type { Row } from '../row.ts';
import { newAsin, type Services } from '../services.ts';

const UPSTREAM_MS = 300;
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
      { at: `half load, ${rate} calls a second`, isFigure: true },
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
    const measured = await alternate(services, sides, { seconds: 5, warmUpSeconds: 5, warmCalls: 50 });
    rows.push(
      connections === 1
        ? addedRow({ at: '1 connection', isFigure: true }, measured)
        : addedRow({ at: `${connections} connections` }, measured),
    );
  }
  return rows;
}

/** Compares what Souk adds to the provider's own time with what the bare chain adds. */
function addedRow(
  { at, isFigure = false }: { at: string; isFigure?: boolean },
  { sides, busy }: Comparison<SideName>,
): Row {
  const { ours, bare, upstream } = sides;
  const added = (side: Rounds) =>
    side.samples.map(({ p50Ms }, round) => p50Ms - (upstream.samples[round]?.p50Ms ?? 0));
  const addedByBare = added(bare);
  const ratios = added(ours).map((ms, round) => ms / (addedByBare[round] ?? 0));
  const [least = 0, most = 0] = extent(ratios);
  const addedBy = (side: Rounds) => side.median('p50Ms') - upstream.median('p50Ms');
  return {
    ...(isFigure && { figure: 'uncached-added' as const }),
    what: `uncached call at ${at}: p50 added to the provider's ${UPSTREAM_MS} ms / added by bare route + BullMQ + undici + one UPDATE each way`,
    ours: `${latencyOf(ours)}; p50 adds ${addedBy(ours).toFixed(1)} ms`,
    baseline: `${latencyOf(bare)}; p50 adds ${addedBy(bare).toFixed(1)} ms; the provider itself: ${latencyOf(upstream)}`,
    ratio: median(ratios) ?? 0,
    spread: [least, most],
    aim: 'at most 1.5',
    cpu: `${cpuOf(ours)}; bare ${cpuOf(bare)}`,
    busy,
    failures: ours.failures + bare.failures + upstream.failures,
  };
}
