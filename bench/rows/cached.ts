import { Redis } from 'ioredis';
import { load } from '../load.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const OPTIONS = { connections: 200, seconds: 8 };
const ACCOUNTS = 1000;

/** Compares a cached, charged call with a plain route that gets the same bytes from Redis. */
export async function cachedRows(services: Services): Promise<Row[]> {
  const upstream = await services.start('bench/instant-upstream.ts');
  const { url: gatewayUrl } = await services.startSouk(upstream.ready);
  const keys = await services.keys(ACCOUNTS);
  const path = '/api/market/product?domain=1&asins=B00BENCH01&detailLevel=summary';
  const first = await fetch(`${gatewayUrl}${path}`, { headers: { 'x-api-key': keys[0] ?? '' } });
  const body = Buffer.from(await first.arrayBuffer());
  const redis = new Redis(services.redisUrl);
  await redis.set('bare:bytes', body);
  redis.disconnect();

  const bare = await services.start('bench/bare-server.ts');
  const baseline = await load(bare.ready, () => ({ path: '/bytes' }), OPTIONS);
  await services.stop(bare.child);

  // A call with another freshness threshold is another call: it is charged again and uses the same cached answer.
  let update = 1;
  const call = (key: string) => () => {
    update += 1;
    return { path: `${path}&update=${update}`, headers: { 'x-api-key': key } };
  };
  let turn = 0;
  const nextKey = () => {
    turn = (turn + 1) % ACCOUNTS;
    return keys[turn] ?? '';
  };
  const many = await load(gatewayUrl, () => call(nextKey())(), OPTIONS);
  const hot = await load(gatewayUrl, call(keys[0] ?? ''), OPTIONS);
  const failures = many.failures + hot.failures + baseline.failures;
  return [
    {
      what: `cached, charged call (${body.length} bytes, ${ACCOUNTS} accounts) / bare Redis GET route`,
      ours: `${many.requestsPerSecond.toFixed(0)}/s, p50 ${many.p50Ms} ms, p99 ${many.p99Ms} ms`,
      baseline: `${baseline.requestsPerSecond.toFixed(0)}/s, p50 ${baseline.p50Ms} ms, p99 ${baseline.p99Ms} ms`,
      ratio: many.requestsPerSecond / baseline.requestsPerSecond,
      aim: 'at least 0.5',
      failures,
    },
    {
      what: 'cached, charged call: one hot account / many accounts',
      ours: `${hot.requestsPerSecond.toFixed(0)}/s, p50 ${hot.p50Ms} ms, p99 ${hot.p99Ms} ms`,
      baseline: `${many.requestsPerSecond.toFixed(0)}/s`,
      ratio: hot.requestsPerSecond / many.requestsPerSecond,
      aim: 'at least 0.9',
      failures: hot.failures,
    },
  ];
}
