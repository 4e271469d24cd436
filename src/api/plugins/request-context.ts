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
  // Every charged call is a row in PostgreSQL, so the request log is for debugging only and costs nothing otherwise.
  if (!log.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, id: requestId } = request;
    // The raw address could hold the key in an encoding that no mask knows. Addresses of webhooks are often secrets too.
    const { key: _, webhook: __, token: ___, ...query } = request.query as Record<string, unknown>;
    const [path] = url.split('?', 1);
    const { statusCode: status, elapsedTime } = reply;
    log.debug({ requestId, method, path, query, status, ms: Math.round(elapsedTime) }, 'request');
  });
}
