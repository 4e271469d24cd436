import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runProcess } from '../src/platform/process.ts';
import { type BodyName, prepareBody } from './bodies.ts';

/**
 * A product data provider that answers immediately, or after LATENCY_MS, with unlimited tokens, so that only Souk's own time is
 * measured. BODY selects its answers.
 */
await runProcess('instant upstream', async (env) => {
  const latencyMs = Number(env.LATENCY_MS ?? 0);
  const name = (env.BODY ?? 'small') as BodyName;
  const body = prepareBody(name);
  let timestamp = 0;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://upstream');
    timestamp += 1;
    const tokens = { timestamp, tokensLeft: 1e9, refillIn: 1000, refillRate: 1e6, tokensConsumed: 1 };
    const product = name === 'lightning' ? '' : `,"products":[{"asin":"${searchParams.get('asin')}"`;
    const { encoding, bytes } = pathname.endsWith('/token')
      ? { encoding: 'identity', bytes: Buffer.from(JSON.stringify(tokens)) }
      : body(`${JSON.stringify(tokens).slice(0, -1)}${product}`);
    response.setHeader('content-type', 'application/json');
    if (encoding === 'gzip') response.setHeader('content-encoding', encoding);
    if (latencyMs === 0) response.end(bytes);
    else setTimeout(() => response.end(bytes), latencyMs);
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
