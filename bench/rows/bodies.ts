import { load } from '../load.ts';
import { alternate, cpuOf, throughputOf, totalCpuMs } from '../rounds.ts';
import type { Row } from '../row.ts';
import { newAsin, type Services } from '../services.ts';

const CONNECTIONS = 8;
const LEVELS = ['summary', 'lite', 'full'] as const;
const MOST_CPU_MS = 6;

/** Measures uncached calls of a recorded product of 207 KB. */
export async function bodyRows(services: Services): Promise<Row[]> {
  const upstream = await services.start('bench/instant-upstream.ts', { env: { BODY: 'recorded' } });
  const { url } = await services.startSouk(upstream.ready);
  const [key = ''] = await services.keys(1);
  const headers = { 'x-api-key': key, 'accept-encoding': 'gzip' };
  const level = (detailLevel: string) =>
    load(
      url,
      () => ({
        path: `/api/market/product?domain=1&asins=${newAsin()}&detailLevel=${detailLevel}`,
        headers,
      }),
      { connections: CONNECTIONS },
    );
  const { sides, busy } = await alternate(services, {
    summary: level('summary'),
    lite: level('lite'),
    full: level('full'),
  });
  return LEVELS.map((name) => ({
    ...(name === 'full' && { figure: 'body' as const }),
    what: `uncached call of a recorded product of 207 KB at ${name}, ${CONNECTIONS} connections: CPU time / ${MOST_CPU_MS} ms`,
    ours: throughputOf(sides[name]),
    baseline: `${MOST_CPU_MS} ms a call`,
    ratio: totalCpuMs(sides[name]) / MOST_CPU_MS,
    aim: 'at most 1',
    cpu: cpuOf(sides[name]),
    busy,
    failures: sides[name].failures,
  }));
}
