import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';
import { ERRORS } from '../../platform/errors.ts';
import type { CallEventSink } from '../../platform/telemetry/call-events.ts';
import { createTally } from '../../platform/telemetry/tally.ts';

/** Counts requests and what they were answered. Routes are named by their pattern: no address as it came is a label. */
export interface RequestMetrics {
  /** Counts the errors that requests were answered with. */
  onEvent: CallEventSink;
  /** Counts all requests of a gateway. */
  observe(app: FastifyInstance): void;
}

/** As proxies have it for clients that left before they were answered. */
const LEFT_STATUS = 499;

/** From cached answers to the longest waits. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export function createRequestMetrics(registry: Registry): RequestMetrics {
  const requestsBy = createTally(registry, {
    name: 'souk_http_requests_total',
    help: `Requests by what they were answered; ${LEFT_STATUS}: the client had left before.`,
    labels: ['route', 'method', 'status'],
  });
  const refusalsBy = createTally(registry, {
    name: 'souk_refusals_total',
    help: 'Requests answered with an error, by its code.',
    labels: ['code'],
  });
  const durations = new Histogram({
    name: 'souk_http_request_duration_seconds',
    help: 'How long requests took, waiting for their jobs included.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: [registry],
  });

  const durationsByRoute = new Map<string, Histogram.Internal<'route'>>();
  const durationOf = (route: string) => {
    const duration = durationsByRoute.get(route) ?? durations.labels(route);
    durationsByRoute.set(route, duration);
    return duration;
  };

  return {
    onEvent(event) {
      if (event.type === 'request.refused') refusalsBy(ERRORS[event.error].code).value += 1;
    },
    observe(app) {
      app.addHook('onRequest', (request, reply, done) => {
        // Not when Fastify says that it has responded: clients that leave with the last byte are not told of there.
        reply.raw.once('close', () => {
          const status = reply.raw.headersSent ? reply.statusCode : LEFT_STATUS;
          const route = request.routeOptions.url ?? 'none';
          requestsBy(route, request.method, String(status)).value += 1;
          durationOf(route).observe((performance.now() - request.startedAt) / 1000);
        });
        done();
      });
    },
  };
}
