import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { Pool } from 'undici';
import { runProcess } from '../src/platform/process.ts';
import { updateBareAccount } from './bare-account.ts';

const CONCURRENCY = 32;

/** The worker of the BullMQ baselines. A job with an ASIN fetches it from upstream and updates its account; others do nothing. */
await runProcess('bare worker', async (env) => {
  const connections = [1, 2].map(() => new Redis(env.REDIS_URL ?? '', { maxRetriesPerRequest: null }));
  const [connection, idleConnection] = connections as [Redis, Redis];
  const database = new pg.Pool({ connectionString: env.DATABASE_URL });
  const upstream = new Pool(env.UPSTREAM_URL ?? 'http://127.0.0.1:9', { connections: CONCURRENCY });
  const call = new Worker<{ account: number; asin: string }>(
    'bare',
    async ({ data: { account, asin } }) => {
      const { body } = await upstream.request({ method: 'GET', path: `/product?domain=1&asin=${asin}` });
      const text = await body.text();
      await updateBareAccount(database, account);
      return text;
    },
    { connection, concurrency: CONCURRENCY },
  );
  const idle = new Worker('idle', async () => 'done', {
    connection: idleConnection,
    concurrency: CONCURRENCY,
  });
  await Promise.all([call.waitUntilReady(), idle.waitUntilReady()]);
  return {
    ready: 'ready',
    async close() {
      await Promise.all([call.close(), idle.close()]);
      await Promise.all([database.end(), upstream.close()]);
      for (const one of connections) one.disconnect();
    },
  };
});
