import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';
import { ERRORS } from '../../platform/errors.ts';
import type { CallEventSink } from '../../platform/telemetry/call-events.ts';
import { createTally } from '../../platform/telemetry/tally.ts';
import { atEnd } from './request-end.ts';

/** Counts requests by status. Labels have the pattern of the route, never the address itself. */
export interface RequestMetrics {
  /** Counts errors by code. */
  onEvent: CallEventSink;
  /** Starts to count the requests of a gateway. */
  observe(app: FastifyInstance): void;
}

/** The status that proxies use for clients that disconnected before the answer. */
const LEFT_STATUS = 499;

/** Buckets from cached answers to the longest waits. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export function createRequestMetrics(registry: Registry): RequestMetrics {
  const requestsBy = createTally(registry, {
    name: 'souk_http_requests_total',
    help: `Requests by status; ${LEFT_STATUS}: the client disconnected before the answer.`,
    labels: ['route', 'method', 'status'],
  });
  const refusalsBy = createTally(registry, {
    name: 'souk_refusals_total',
    help: 'Requests answered with an error, by error code.',
    labels: ['code'],
  });
  const durations = new Histogram({
    name: 'souk_http_request_duration_seconds',
    help: 'Duration of requests, including the time they waited for their jobs.',
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
        atEnd(request, () => {
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
