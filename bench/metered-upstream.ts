import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MINUTE_MS } from '../src/platform/durations.ts';
import { runProcess } from '../src/platform/process.ts';

/** The use of the refill by calls. */
export interface MeterReport {
  /** Tokens spent from each refill to the next. The last refill has no entry. */
  spentByMinute: number[];
  /** Calls received while the bucket was empty. */
  refused: number;
}

const { TOKENS_PER_MINUTE = '60000' } = process.env;
const RATE = Number(TOKENS_PER_MINUTE);
const TICK_MS = MINUTE_MS;

/** The tokens that background work leaves in reserve. At this balance, background work can use only what a refill adds. */
const RESERVE = 0.1 * 60 * RATE;

/** Time to the first refill, shorter than a minute so that the benchmark starts early. */
const FIRST_TICK_MS = 5_000;

/**
 * A product data provider that answers immediately, whose tokens are refilled once a minute, like Keepa's. The message `reset`
 * starts it with the reserve that background work leaves.
 */
await runProcess('metered upstream', async () => {
  let timestamp = 0;
  let left = RESERVE;
  let nextTickAt = Number.POSITIVE_INFINITY;
  let spent: number | null = null;
  const report: MeterReport = { spentByMinute: [], refused: 0 };

  function refill(): void {
    while (Date.now() >= nextTickAt) {
      nextTickAt += TICK_MS;
      left += RATE;
      if (spent !== null) report.spentByMinute.push(spent);
      spent = 0;
    }
  }

  process.on('message', (message) => {
    if (message === 'reset') nextTickAt = Date.now() + FIRST_TICK_MS;
    if (message === 'report') process.send?.({ report });
  });

  const server = createServer((request, response) => {
    refill();
    const { searchParams } = new URL(request.url ?? '', 'http://upstream');
    const asins = searchParams.get('asin')?.split(',') ?? [];
    const isRefused = asins.length > 0 && left <= 0;
    if (isRefused) report.refused += 1;
    else {
      left -= asins.length;
      spent = spent === null ? null : spent + asins.length;
    }
    timestamp += 1;
    const products = asins.map((asin) => ({
      asin,
      domainId: 1,
      title: 'A product that is answered immediately',
      brand: 'Bench',
      productType: 0,
      lastUpdate: 7_000_000,
      csv: [Array.from({ length: 200 }, (_, i) => 7_000_000 + i)],
    }));
    const refillIn = Number.isFinite(nextTickAt) ? nextTickAt - Date.now() : TICK_MS;
    const tokens = { timestamp, tokensLeft: left, refillIn, refillRate: RATE, tokensConsumed: asins.length };
    response.writeHead(isRefused ? 429 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isRefused ? tokens : { ...tokens, products }));
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
