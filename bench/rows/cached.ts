import { Redis } from 'ioredis';
import { createBareCalls } from '../bare-account.ts';
import { load } from '../load.ts';
import { alternate, BARE, throughputRow } from '../rounds.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

const CONNECTIONS = 200;
const ACCOUNTS = 1000;

/** The freshness threshold of the first request that all accounts send; larger than those of the other calls. */
const FIRST_SHARED = 1_000_000_000;

/**
 * Compares a cached, charged call with plain routes that get the same bytes from Redis: one that books nothing, and two that book
 * each call in PostgreSQL.
 */
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
  await createBareCalls(services.database);
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
  const plain = (path: string) => load(bare.ready, () => ({ path }), { ...options, processes: BARE });
  const { sides, busy } = await alternate(services, {
    many: load(url, () => call(keys[update % ACCOUNTS]), options),
    bare: plain('/bytes'),
    booked: plain('/booked'),
    transaction: plain('/booked-in-transaction'),
    hot: load(url, () => call(keys[0]), options),
    same: load(url, sameCall, options),
  });
  const { many, hot, same } = sides;
  const what = `cached, charged call (${body.length} bytes, ${ACCOUNTS} accounts, ${CONNECTIONS} connections)`;
  return [
    throughputRow(
      {
        figure: 'cached-booked',
        what: `${what} / Redis GET route, booked by one UPDATE + INSERT a call`,
        aim: 'at least 3',
      },
      { ours: many, baseline: sides.booked, busy },
    ),
    throughputRow(
      {
        figure: 'cached-transaction',
        what: `${what} / Redis GET route, booked by BEGIN, UPDATE, INSERT, COMMIT`,
        aim: 'at least 3',
      },
      { ours: many, baseline: sides.transaction, busy },
    ),
    throughputRow(
      {
        figure: 'cached-bare',
        what: `${what} / Redis GET route that books nothing`,
        aim: 'at least 0.45',
      },
      { ours: many, baseline: sides.bare, busy },
    ),
    throughputRow(
      {
        what: `cached, charged call, each request sent by ${ACCOUNTS} accounts / Redis GET route that books nothing`,
        aim: 'at least 0.45',
      },
      { ours: same, baseline: sides.bare, busy },
    ),
    throughputRow(
      { what: 'cached, charged call: one hot account / many accounts', aim: 'at least 0.9' },
      { ours: hot, baseline: many, busy },
    ),
  ];
}
