import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { runProcess } from '../src/process.ts';

/** The baseline of the cached rows: a bare Fastify route that does one Redis GET and sends the bytes. */
await runProcess('bare server', async (env) => {
  const redis = new Redis(env.REDIS_URL ?? '');
  const app = fastify({ logger: false });
  const held = env.BARE_HOLD_KEY ? await redis.getBuffer(env.BARE_HOLD_KEY) : null;
  app.get('/bytes', async (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(await redis.getBuffer('bare:bytes')),
  );
  app.get('/held', async (_request, reply) =>
    reply
      .header('content-type', 'application/json; charset=utf-8')
      .header('content-encoding', 'gzip')
      .send(held),
  );
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ready: address,
    async close() {
      await app.close();
      redis.disconnect();
    },
  };
});
