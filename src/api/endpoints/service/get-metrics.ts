import type { Registry } from 'prom-client';
import type { QueueGauges } from '../../../../jobs/queue-gauges.ts';
import { publicEndpoint } from '../endpoint.ts';

interface MetricsDeps {
  /** Everything this process counts. */
  registry: Registry;
  queueGauges: Pick<QueueGauges, 'sample'>;
}

export const getMetrics = publicEndpoint({
  isHidden: true,
  tag: 'service',
  method: 'get',
  path: '/metrics',
  summary: 'Returns what this process has counted and what all processes share, for Prometheus.',
  answers: {
    200: { description: 'Metrics', content: { 'text/plain': { schema: { type: 'string' } } } },
  },

  async handle({ registry, queueGauges }: MetricsDeps, _request, reply) {
    await queueGauges.sample();
    reply.header('content-type', registry.contentType).header('cache-control', 'no-store');
    return registry.metrics();
  },
});
