import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { runProcess } from '../src/platform/process.ts';
import { openBareQueue } from './bare-queue.ts';

/** The HTTP baselines: the same frameworks without Souk. */
await runProcess('bare server', async (env) => {
  const url = env.REDIS_URL ?? '';
  const redis = new Redis(url);
  const queue = await openBareQueue(url);
  const app = fastify({ logger: false });

  app.get('/bytes', async (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(await redis.getBuffer('bare:bytes')),
  );

  let held: Buffer | null = null;
  app.get('/held', async (_request, reply) => {
    held ??= await redis.getBuffer('bare:held');
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .header('content-encoding', 'gzip')
      .send(held);
  });

  app.get('/job', async () => {
    await queue.runJob();
    return { done: true };
  });

  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ready: address,
    async close() {
      await app.close();
      await queue.close();
      redis.disconnect();
    },
  };
});
