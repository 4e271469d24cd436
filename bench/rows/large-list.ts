import type { ChildProcess } from 'node:child_process';
import { Redis } from 'ioredis';
import { request } from 'undici';
import { load } from '../load.ts';
import type { ProbeReport } from '../probe.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const CLIENTS = 50;
const OPTIONS = { connections: CLIENTS, seconds: 10 };
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

  const bare = await services.start('bench/bare-server.ts');
  const baseline = await load(bare.ready, () => ({ path: '/held' }), OPTIONS);
  await services.stop(bare.child);

  gateway.send('reset');
  let turn = 0;
  const ours = await load(
    url,
    () => {
      turn += 1;
      return { path: PATH, headers: withKey(keys[turn % CLIENTS]) };
    },
    OPTIONS,
  );
  const { loopDelayP99Ms, memoryGrowthMb } = await reportOf(gateway);
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  return [
    {
      what: `${CLIENTS} clients, cached list of ${megabytes(size)} MB (${megabytes(packed.length)} MB gzip) / the same bytes from a bare route`,
      ours: `${ours.requestsPerSecond.toFixed(0)}/s, ${megabytes(ours.bytesPerSecond)} MB/s, loop delay p99 ${loopDelayP99Ms.toFixed(0)} ms, memory +${memoryGrowthMb.toFixed(0)} MB`,
      baseline: `${baseline.requestsPerSecond.toFixed(0)}/s, ${megabytes(baseline.bytesPerSecond)} MB/s`,
      ratio: ours.bytesPerSecond / baseline.bytesPerSecond,
      aim: 'at least 0.8, delay below 30 ms, memory below 300 MB',
      failures: ours.failures + baseline.failures,
    },
  ];
}

async function reportOf(process: ChildProcess): Promise<ProbeReport> {
  const message = new Promise<{ report: ProbeReport }>((resolve) => process.once('message', resolve));
  process.send('report');
  return (await message).report;
}
