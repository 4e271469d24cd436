import type { FastifyInstance } from 'fastify';
import type { Span, Tracing } from '../../platform/telemetry/tracing.ts';
import { atEnd } from './request-end.ts';

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | null;
  }
}

/** Records each request as a span with the name of its route. Continues a `traceparent` of the client. */
export function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  app.decorateRequest('span', null);
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers } = request;
    const route = request.routeOptions.url;
    const { traceparent } = headers;
    const span = tracing.start({
      name: route === undefined ? method : `${method} ${route}`,
      kind: 'server',
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      attributes: {
        'http.request.method': method,
        ...(route === undefined ? {} : { 'http.route': route }),
        'souk.request_id': request.id,
      },
    });
    atEnd(request, () => {
      if (reply.raw.headersSent) span.set({ 'http.response.status_code': reply.statusCode });
      else span.fail('the client disconnected');
      if (reply.statusCode >= 500) span.fail(String(reply.statusCode));
      span.end();
    });
    request.span = span;
    done();
  });
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    // Starts with the handler, because reading a body loses the context of the span.
    route.handler = function (request, reply) {
      const run = (): unknown => handler.call(this, request, reply);
      return request.span ? request.span.within(run) : run();
    };
  });
}
