import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MINUTE_MS } from '../src/platform/durations.ts';
import { runProcess } from '../src/platform/process.ts';

/** The use of the refill of an account by calls. */
interface AccountReport {
  /** Tokens spent from each refill to the next. The last refill has no entry. */
  spentByMinute: number[];
  /** Tokens above the reserve that were left at the last refill. */
  unused: number;
  /** Calls received while the bucket was empty. */
  limited: number;
  /** Calls received after the account was killed. */
  refused: number;
}

export interface MeterReport {
  accounts: Record<string, AccountReport>;
  /** Products that were sold more than once. */
  soldTwice: number;
  /** Refills before the account was killed. */
  refillsBeforeKill: number;
}

const { TOKENS_PER_MINUTE = '60000', KILL_KEY, KILL_AFTER = 'Infinity' } = process.env;
const RATE = Number(TOKENS_PER_MINUTE);
const TICK_MS = MINUTE_MS;

/** The tokens that background work leaves in reserve. At this balance, background work can use only what a refill adds. */
const RESERVE = 0.1 * 60 * RATE;

/** Time to the first refill, shorter than a minute so that the benchmark starts early. */
const FIRST_TICK_MS = 5_000;

/**
 * A product data provider that answers immediately. The tokens of each key are refilled once a minute, like Keepa's. The message
 * `reset` starts it with the reserve that background work leaves. The account of KILL_KEY is refused after KILL_AFTER products.
 */
await runProcess('metered upstream', async () => {
  let timestamp = 0;
  let nextTickAt = Number.POSITIVE_INFINITY;
  let ticks = 0;
  const accounts = new Map<string, AccountReport & { left: number; spent: number | null }>();
  const sold = new Set<string>();
  let soldTwice = 0;
  let refillsBeforeKill = 0;

  function accountOf(key: string) {
    const known = accounts.get(key);
    if (known) return known;
    const account = { left: RESERVE, spent: null, spentByMinute: [], unused: 0, limited: 0, refused: 0 };
    accounts.set(key, account);
    return account;
  }

  function refill(): void {
    while (Date.now() >= nextTickAt) {
      nextTickAt += TICK_MS;
      ticks += 1;
      for (const account of accounts.values()) {
        account.unused = account.left - RESERVE;
        account.left += RATE;
        if (account.spent !== null) account.spentByMinute.push(account.spent);
        account.spent = 0;
      }
    }
  }

  /** Sells products, unless the account has no tokens or was killed. @returns the status of the answer. */
  function sell(key: string, asins: readonly string[]): number {
    const account = accountOf(key);
    if (key === KILL_KEY && sold.size >= Number(KILL_AFTER)) {
      if (account.refused === 0) refillsBeforeKill = Math.max(0, ticks - 1);
      account.refused += 1;
      return 402;
    }
    if (asins.length > 0 && account.left <= 0) {
      account.limited += 1;
      return 429;
    }
    account.left -= asins.length;
    if (account.spent !== null) account.spent += asins.length;
    for (const asin of asins) {
      if (sold.has(asin)) soldTwice += 1;
      sold.add(asin);
    }
    return 200;
  }

  process.on('message', (message) => {
    if (message === 'reset') nextTickAt = Date.now() + FIRST_TICK_MS;
    const report = {
      accounts: Object.fromEntries(accounts),
      soldTwice,
      refillsBeforeKill,
    } satisfies MeterReport;
    if (message === 'report') process.send?.({ report });
  });

  const server = createServer((request, response) => {
    refill();
    const { searchParams } = new URL(request.url ?? '', 'http://upstream');
    const asins = searchParams.get('asin')?.split(',') ?? [];
    const key = searchParams.get('key') ?? '';
    const status = sell(key, asins);
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
    const { left: tokensLeft } = accountOf(key);
    const tokens = { timestamp, tokensLeft, refillIn, refillRate: RATE, tokensConsumed: asins.length };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? { ...tokens, products } : tokens));
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
