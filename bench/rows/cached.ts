import { Redis } from 'ioredis';
import { load } from '../load.ts';
import { alternate, BARE, throughputRow } from '../rounds.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const CONNECTIONS = 200;
const ACCOUNTS = 1000;

/** The freshness threshold of the first request that all accounts send; larger than those of the other calls. */
const FIRST_SHARED = 1_000_000_000;

/** Compares a cached, charged call with a plain route that gets the same bytes from Redis. */
export async function cachedRows(services: Services): Promise<Row[]> {
  const upstream = await services.start('bench/instant-upstream.ts');
  const { url } = await services.startSouk(upstream.ready);
  const keys = await services.keys(ACCOUNTS);
  const path = '/api/market/product?domain=1&asins=B00BENCH01&detailLevel=summary';
  const first = await fetch(`${url}${path}`, { headers: { 'x-api-key': keys[0] ?? '' } });
  const body = Buffer.from(await first.arrayBuffer());
  const redis = new Redis(services.redisUrl);
  await redis.set('bare:bytes', body);
  redis.disconnect();
  const bare = await services.start('bench/bare-server.ts', { name: 'bare server' });

  // A call with another freshness threshold is another call: it is charged again and uses the same cached answer.
  let update = 1;
  const call = (key = '') => {
    update += 1;
    return { path: `${path}&update=${update}`, headers: { 'x-api-key': key } };
  };
  // Every account sends the same request in turn; then all of them send the next one.
  let sent = 0;
  const sameCall = () => {
    sent += 1;
    const update = FIRST_SHARED + Math.floor(sent / ACCOUNTS);
    return { path: `${path}&update=${update}`, headers: { 'x-api-key': keys[sent % ACCOUNTS] ?? '' } };
  };
  const options = { connections: CONNECTIONS };
  const { sides, busy } = await alternate(services, {
    many: load(url, () => call(keys[update % ACCOUNTS]), options),
    bare: load(bare.ready, () => ({ path: '/bytes' }), { ...options, processes: BARE }),
    hot: load(url, () => call(keys[0]), options),
    same: load(url, sameCall, options),
  });
  const { many, hot, same } = sides;
  return [
    throughputRow(
      {
        what: `cached, charged call (${body.length} bytes, ${ACCOUNTS} accounts, ${CONNECTIONS} connections) / bare Redis GET route`,
        aim: 'at least 0.6',
      },
      { ours: many, baseline: sides.bare, busy },
    ),
    throughputRow(
      {
        what: `cached, charged call, each request sent by ${ACCOUNTS} accounts / bare Redis GET route`,
        aim: 'at least 0.6',
      },
      { ours: same, baseline: sides.bare, busy },
    ),
    throughputRow(
      { what: 'cached, charged call: one hot account / many accounts', aim: 'at least 0.9' },
      { ours: hot, baseline: many, busy },
    ),
  ];
}
