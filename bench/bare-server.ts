import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import pg from 'pg';
import { runProcess } from '../src/platform/process.ts';
import { BARE_ACCOUNTS, bookBareCall, bookInTransaction, updateBareAccount } from './bare-account.ts';
import { openBareQueue } from './bare-queue.ts';

/** The HTTP baselines: the same frameworks without Souk. */
await runProcess('bare server', async (env) => {
  const url = env.REDIS_URL ?? '';
  const redis = new Redis(url);
  const database = new pg.Pool({ connectionString: env.DATABASE_URL });
  // Stores end first if the benchmark is stopped.
  database.on('error', () => {});
  const queue = await openBareQueue(url);
  const app = fastify({ logger: false });
  const JSON_TYPE = 'application/json; charset=utf-8';

  app.get('/bytes', async (_request, reply) =>
    reply.header('content-type', JSON_TYPE).send(await redis.getBuffer('bare:bytes')),
  );

  let booked = 0;
  for (const [path, book] of [
    ['/booked', bookBareCall],
    ['/booked-in-transaction', bookInTransaction],
  ] as const)
    app.get(path, async (_request, reply) => {
      booked += 1;
      await book(database, 1 + (booked % BARE_ACCOUNTS));
      return reply.header('content-type', JSON_TYPE).send(await redis.getBuffer('bare:bytes'));
    });

  let held: Buffer | null = null;
  app.get('/held', async (_request, reply) => {
    held ??= await redis.getBuffer('bare:held');
    return reply.header('content-type', JSON_TYPE).header('content-encoding', 'gzip').send(held);
  });

  let calls = 0;
  app.get<{ Querystring: { asin: string } }>('/call', async ({ query: { asin } }, reply) => {
    calls += 1;
    const account = 1 + (calls % BARE_ACCOUNTS);
    await updateBareAccount(database, account);
    return reply.header('content-type', JSON_TYPE).send(await queue.runJob({ account, asin }));
  });

  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ready: address,
    async close() {
      await app.close();
      await queue.close();
      await database.end();
      redis.disconnect();
    },
  };
});
