import type { Registry } from 'prom-client';
import type { QueueGauges } from '../../../../jobs/queue-gauges.ts';
import { publicEndpoint } from '../endpoint.ts';

interface MetricsDeps {
  /** The metrics of this process. */
  registry: Registry;
  queueGauges: Pick<QueueGauges, 'sample'>;
}

export const getMetrics = publicEndpoint({
  isHidden: true,
  tag: 'service',
  method: 'get',
  path: '/metrics',
  summary: 'Returns the metrics of this process, and those that all processes share, for Prometheus.',
  answers: {
    200: { description: 'Metrics', content: { 'text/plain': { schema: { type: 'string' } } } },
  },

  async handle({ registry, queueGauges }: MetricsDeps, _request, reply) {
    await queueGauges.sample();
    reply.header('content-type', registry.contentType).header('cache-control', 'no-store');
    return registry.metrics();
  },
});
