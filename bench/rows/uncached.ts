import { openBareQueue } from '../bare-queue.ts';
import { type LoadResult, load } from '../load.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const OPTIONS = { connections: 50, seconds: 8 };

/** Measures an uncached call through queue and worker, with an upstream that answers at once. */
export async function uncachedRows(services: Services): Promise<Row[]> {
  const bareWorker = await services.start('bench/bare-worker.ts');
  const bareServer = await services.start('bench/bare-server.ts');
  const behindHttp = await load(bareServer.ready, () => ({ path: '/job' }), OPTIONS);
  await services.stop(bareServer.child);
  const bare = await loadQueue(services.redisUrl, OPTIONS);
  await services.stop(bareWorker.child);

  const upstream = await services.start('bench/instant-upstream.ts');
  const { url } = await services.startSouk(upstream.ready);
  const keys = await services.keys(100);
  let turn = 0;
  const ours = await load(
    url,
    () => {
      turn += 1;
      const asin = `B${String(turn).padStart(9, '0')}`;
      const key = keys[turn % keys.length] ?? '';
      return { path: `/api/market/product?domain=1&asins=${asin}`, headers: { 'x-api-key': key } };
    },
    OPTIONS,
  );
  const what = 'uncached call through queue and worker';
  return [
    against(`${what} / bare BullMQ add, process, event`, ours, bare),
    against(`${what} / the same BullMQ behind a bare route`, ours, behindHttp),
  ];
}

function against(what: string, ours: LoadResult, baseline: LoadResult): Row {
  return {
    what,
    ours: `${ours.requestsPerSecond.toFixed(0)}/s, p50 ${ours.p50Ms} ms`,
    baseline: `${baseline.requestsPerSecond.toFixed(0)}/s, p50 ${baseline.p50Ms} ms`,
    ratio: ours.requestsPerSecond / baseline.requestsPerSecond,
    aim: 'at least 0.7, p50 at most 1.5 times',
    failures: ours.failures + baseline.failures,
  };
}

/** Adds jobs to the bare queue and waits for their events, with the concurrency of the load. */
async function loadQueue(
  redisUrl: string,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<LoadResult> {
  const queue = await openBareQueue(redisUrl);
  const run = async (durationMs: number) => {
    const end = performance.now() + durationMs;
    const latenciesMs: number[] = [];
    const client = async () => {
      while (performance.now() < end) {
        const startedAt = performance.now();
        await queue.runJob();
        latenciesMs.push(performance.now() - startedAt);
      }
    };
    await Promise.all(Array.from({ length: connections }, client));
    return latenciesMs.sort((a, b) => a - b);
  };
  await run(2000);
  const latenciesMs = await run(seconds * 1000);
  await queue.close();
  const at = (share: number) => Math.round(latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0);
  return {
    requestsPerSecond: latenciesMs.length / seconds,
    bytesPerSecond: 0,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    failures: 0,
  };
}
