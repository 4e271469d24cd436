import { Redis } from 'ioredis';
import { request } from 'undici';
import { load } from '../load.ts';
import { reportOf } from '../probe-report.ts';
import { alternate, BARE, throughputOf, throughputRow } from '../rounds.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const CLIENTS = 50;
/** One answer to each client takes several seconds. */
const LENGTHS = { seconds: 10, warmUpSeconds: 10, warmCalls: CLIENTS };
const OPTIONS = { connections: CLIENTS };
const PATH = '/api/market/lightningdeal?domain=1';

/** Compares fifty clients that read the cached list of a site with the same gzip bytes from memory. */
export async function largeListRows(services: Services): Promise<Row[]> {
  const upstream = await services.start('demo/main.ts');
  const { url, gateway } = await services.startSouk(upstream.ready);
  const keys = await services.keys(CLIENTS);
  const withKey = (key = '') => ({ 'x-api-key': key, 'accept-encoding': 'gzip' });

  const first = await request(`${url}${PATH}`, { headers: withKey(keys[0]) });
  const packed = Buffer.from(await first.body.arrayBuffer());
  const plain = await request(`${url}${PATH}`, { headers: { 'x-api-key': keys[0] ?? '' } });
  const size = (await plain.body.arrayBuffer()).byteLength;
  const redis = new Redis(services.redisUrl);
  await redis.set('bare:held', packed);
  redis.disconnect();

  const bare = await services.start('bench/bare-server.ts', { name: 'bare server' });
  let turn = 0;
  const ours = () => {
    turn += 1;
    return { path: PATH, headers: withKey(keys[turn % CLIENTS]) };
  };
  gateway.send('reset');
  const { sides, busy } = await alternate(
    services,
    {
      ours: load(url, ours, OPTIONS),
      baseline: load(bare.ready, () => ({ path: '/held' }), { ...OPTIONS, processes: BARE }),
    },
    LENGTHS,
  );
  const { loopDelayP99Ms, blockP99Ms, memoryGrowthMb } = await reportOf(gateway);
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  const row = throughputRow(
    {
      figure: 'large-list',
      what: `${CLIENTS} clients, cached list of ${megabytes(size)} MB (${megabytes(packed.length)} MB gzip) / the same bytes from a bare route`,
      aim: 'at least 0.95, delay below 30 ms, memory below 300 MB',
    },
    { ...sides, busy },
  );
  const { ours: listed } = sides;
  const bytes = `${megabytes(listed.median('bytesPerSecond'))} MB/s`;
  return [
    {
      ...row,
      ours: `${throughputOf(listed)}, ${bytes}, loop delay p99 ${blockP99Ms.toFixed(0)} ms, with waits for a processor ${loopDelayP99Ms.toFixed(0)} ms, memory +${memoryGrowthMb.toFixed(0)} MB`,
    },
  ];
}
