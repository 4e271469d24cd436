import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { createMetricsCheck, TOKEN_CHALLENGE } from '../src/accounts/operator-token.ts';
import type { ServiceClock } from '../src/platform/clock.ts';
import { clockFault, isClockRight } from '../src/platform/db/pool.ts';
import { ConfigError } from '../src/platform/settings.ts';

export interface MetricsServer {
  port: number;
  close(): Promise<void>;
}

/** Serves `/metrics` and `/readyz` of a worker, which has no other HTTP. @throws ConfigError if it cannot listen on the port. */
export async function openMetricsServer(
  registry: Registry,
  {
    host,
    port,
    token,
    clock,
  }: { host: string; port: number; token: string | undefined; clock: ServiceClock },
): Promise<MetricsServer> {
  const mayRead = createMetricsCheck(token);
  const server = createServer((request, response) => {
    const path = request.method === 'GET' ? request.url?.split('?', 1)[0] : null;
    if (path === '/readyz') {
      const isReady = isClockRight(clock);
      response.writeHead(isReady ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ status: isReady ? 'ready' : 'not ready', ...clockFault(clock) }));
    } else if (path !== '/metrics') {
      response.writeHead(404).end();
    } else if (!mayRead(request)) {
      response.writeHead(401, { 'www-authenticate': TOKEN_CHALLENGE }).end();
    } else {
      registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => {
      reject(new ConfigError(`Cannot listen on HOST ${host} and METRICS_PORT ${port}: ${message}.`));
    });
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
