import type { FastifyInstance } from 'fastify';
import type { Gateway } from './gateway.ts';
import { requireToken } from './require-token.ts';

/** For Prometheus: what this gateway has counted, and what all processes share at this moment. */
export function registerMetrics(
  app: FastifyInstance,
  {
    registry,
    queueGauges,
    operator,
    clock,
  }: Pick<Gateway, 'registry' | 'queueGauges' | 'operator' | 'clock'>,
): void {
  const { metricsToken } = operator;
  const onRequest = metricsToken === undefined ? [] : [requireToken(metricsToken, clock.now)];
  app.get('/metrics', { onRequest }, async (_request, reply) => {
    await queueGauges.sample();
    reply.header('content-type', registry.contentType).header('cache-control', 'no-store');
    return registry.metrics();
  });
}
