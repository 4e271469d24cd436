import { createBareAccounts } from '../bare-account.ts';
import { openBareQueue } from '../bare-queue.ts';
import { load, timed } from '../load.ts';
import { alternate, BARE, throughputRow } from '../rounds.ts';
import type { Row } from '../row.ts';
import { newAsin, type Services } from '../services.ts';

const CONNECTIONS = 50;
const ACCOUNTS = 100;

/** Measures an uncached call through queue and worker, with an upstream that answers immediately. */
export async function uncachedRows(services: Services): Promise<Row[]> {
  await createBareAccounts(services.database);
  const upstream = await services.start('bench/instant-upstream.ts');
  await services.start('bench/bare-worker.ts', {
    name: 'bare worker',
    env: { UPSTREAM_URL: upstream.ready },
  });
  const bare = await services.start('bench/bare-server.ts', { name: 'bare server' });
  const { url } = await services.startSouk(upstream.ready);
  const keys = await services.keys(ACCOUNTS);
  const idle = await openBareQueue(services.redisUrl, 'idle');
  const runIdle = async () => {
    await idle.runJob();
    return { bytes: 0, isExpected: true };
  };
  const options = { connections: CONNECTIONS };
  let turn = 0;
  const ours = () => {
    turn += 1;
    const headers = { 'x-api-key': keys[turn % ACCOUNTS] ?? '' };
    return { path: `/api/market/product?domain=1&asins=${newAsin()}`, headers };
  };
  try {
    const { sides, busy } = await alternate(services, {
      ours: load(url, ours, options),
      fair: load(bare.ready, () => ({ path: `/call?asin=${newAsin()}` }), { ...options, processes: BARE }),
      queue: { processes: BARE, send: (seconds) => timed(CONNECTIONS, seconds, runIdle) },
    });
    const what = `uncached call, ${CONNECTIONS} connections`;
    return [
      throughputRow(
        {
          figure: 'uncached-instant',
          what: `${what}, instant provider / bare route + BullMQ + undici + one UPDATE each way`,
          aim: 'at least 0.7',
        },
        { ours: sides.ours, baseline: sides.fair, busy },
      ),
      throughputRow(
        { what: `${what} / bare BullMQ add, process, event`, aim: 'at least 0.4' },
        { ours: sides.ours, baseline: sides.queue, busy },
      ),
    ];
  } finally {
    await idle.close();
  }
}
