import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runProcess } from '../src/platform/process.ts';

/**
 * A product data provider that answers at once, or after LATENCY_MS, with unlimited tokens, so that only Souk's own time is
 * measured.
 */
await runProcess('instant upstream', async (env) => {
  const latencyMs = Number(env.LATENCY_MS ?? 0);
  let timestamp = 0;
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://upstream');
    timestamp += 1;
    const products = (searchParams.get('asin') ?? '').split(',').map((asin) => ({
      asin,
      domainId: 1,
      title: 'A product that is answered at once',
      brand: 'Bench',
      productType: 0,
      lastUpdate: 7_000_000,
      csv: [[7_000_000, 1999]],
    }));
    response.setHeader('content-type', 'application/json');
    const body = JSON.stringify({
      timestamp,
      tokensLeft: 1e9,
      refillIn: 1000,
      refillRate: 1e6,
      tokensConsumed: 1,
      products,
    });
    if (latencyMs === 0) response.end(body);
    else setTimeout(() => response.end(body), latencyMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ready: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
});
