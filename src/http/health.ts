import type { FastifyInstance } from 'fastify';
import type { Gateway } from './gateway.ts';

/** For load balancers and container engines; no key needed. */
export function registerHealth(
  app: FastifyInstance,
  { database, redis }: Pick<Gateway, 'database' | 'redis'>,
): void {
  app.get('/healthz', async () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const checks = { postgresql: database.query('select 1'), redis: redis.ping() };
    const missing: string[] = [];
    for (const [store, check] of Object.entries(checks)) await check.catch(() => missing.push(store));
    return missing.length === 0
      ? { status: 'ready' }
      : reply.code(503).send({ status: 'not ready', missing });
  });
}
