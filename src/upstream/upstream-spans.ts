import { type Tracing, traced } from '../platform/telemetry/tracing.ts';
import type { HttpClient } from './http-client.ts';

/** Records each upstream request as a span, without its query, which holds the operator's key. */
export function tracedHttpClient(http: HttpClient, tracing: Tracing): HttpClient {
  return {
    send: (request) => {
      const { method, url } = request;
      const attributes = {
        'http.request.method': method,
        'server.address': url.hostname,
        'url.path': url.pathname,
      };
      return traced(
        tracing,
        { name: `${method} ${url.pathname}`, kind: 'client', attributes },
        async (span) => {
          const response = await http.send(request);
          span?.set({ 'http.response.status_code': response.status });
          if (response.status >= 400) span?.fail(String(response.status));
          return response;
        },
      );
    },
    close: () => http.close(),
  };
}
