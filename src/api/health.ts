import type { FastifyInstance } from 'fastify';
import type { Clock } from '../platform/clock.ts';
import type { Gateway } from './gateway.ts';

/** A store that has not answered by then counts as missing: who asks has less patience than a connection. */
const PATIENCE_MS = 3_000;

/** For load balancers and container engines; no key needed. */
export function registerHealth(
  app: FastifyInstance,
  { database, redis, clock }: Pick<Gateway, 'database' | 'redis' | 'clock'>,
): void {
  app.get('/healthz', async () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const answered = {
      postgresql: answersInTime(clock, database.query('select 1')),
      redis: answersInTime(clock, redis.ping()),
    };
    const missing: string[] = [];
    for (const [store, isThere] of Object.entries(answered)) if (!(await isThere)) missing.push(store);
    return missing.length === 0
      ? { status: 'ready' }
      : reply.code(503).send({ status: 'not ready', missing });
  });
}

/** Never rejects: a store that is away while the other one is asked must not end the process. */
function answersInTime(clock: Clock, answer: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(PATIENCE_MS, () => resolve(false));
    const settle = (isThere: boolean) => {
      cancel();
      resolve(isThere);
    };
    answer.then(
      () => settle(true),
      () => settle(false),
    );
  });
}
