import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../platform/log.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request arrived, by performance.now(). */
    startedAt: number;
  }
}

/** Adds `request.startedAt`, and logs requests at level `debug`. */
export function registerRequestContext(app: FastifyInstance, log: Logger): void {
  app.decorateRequest('startedAt', 0);
  app.addHook('onRequest', (request, _reply, done) => {
    request.startedAt = performance.now();
    done();
  });
  // Requests are logged for debugging only. Charged calls are recorded in PostgreSQL.
  if (!log.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, id: requestId } = request;
    // The raw address is not logged, because it may contain the key. Webhook addresses are often secret, too.
    const { key: _, webhook: __, token: ___, ...query } = request.query as Record<string, unknown>;
    const [path] = url.split('?', 1);
    const { statusCode: status, elapsedTime } = reply;
    log.debug({ requestId, method, path, query, status, ms: Math.round(elapsedTime) }, 'request');
  });
}
