import { TEST_PROVIDERS } from '../src/operations/pools.ts';
import type { Database } from '../src/platform/db/pool.ts';
import { createHttpClient } from '../src/upstream/http-client.ts';
import { createKeepaTransport } from '../src/upstream/keepa/transport.ts';
import { createProviderAccounts } from '../src/upstream/provider-accounts.ts';
import { openTrends } from '../src/upstream/trends/trends.ts';
import { createExecutor, type Executor, type ExecutorDeps } from './executor.ts';
import type { Upstreams } from './handlers/handler.ts';

/** A demo provider that answers test calls. */
export interface TestProvider {
  /** Its base address. */
  url: string;
  /** Resolves when it has ended by itself. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

interface TestModeDeps extends Omit<ExecutorDeps, 'upstream' | 'providers' | 'mode'> {
  /** Starts the demo provider. */
  start: () => Promise<TestProvider>;
  /** Connections to the generated reports. */
  reports: Database;
  /** Connections to stored files. */
  database: Database;
}

/** The demo provider accepts any key of this length. */
const ACCOUNTS = [{ name: 'test', key: 'test-test-test-test', state: 'active' }] as const;

/**
 * Creates the executor of test calls, and starts the demo provider when the first of them arrives. The executor has no client of
 * a real provider, and the names of its providers are part of every identity in Redis. A demo provider that ends is started again
 * by the next call.
 */
export function createTestMode(deps: TestModeDeps): Executor & { close(): Promise<void> } {
  const { redis, keys, clock, log, start, reports, database } = deps;
  const http = createHttpClient();
  let running: Promise<{ executor: Executor; provider: TestProvider }> | null = null;
  let current: Executor | null = null;

  async function open() {
    const provider = await start();
    void provider.ended.then(() => {
      running = null;
    });
    const upstream = upstreamsAt(provider.url);
    current = createExecutor({ ...deps, upstream, providers: TEST_PROVIDERS, mode: 'test' });
    return { executor: current, provider };
  }

  function upstreamsAt(baseUrl: string): Upstreams {
    const { products, trends, reports: provider } = TEST_PROVIDERS;
    const accounts = createProviderAccounts({
      redis,
      keys,
      provider: products,
      clock,
      accounts: { present: ACCOUNTS },
      onDue() {},
    });
    const keepa = createKeepaTransport({ baseUrl, http, accounts, clock, log });
    return {
      keepa,
      trends: openTrends({ baseUrl, provider: trends, http, redis, keys, clock }),
      reports: { database: reports, provider, products },
      files: database,
    };
  }

  return {
    async execute(attempt) {
      running ??= open();
      const opening = running;
      opening.catch(() => {
        if (running === opening) running = null;
      });
      const { executor } = await opening;
      return executor.execute(attempt);
    },
    control: (control) => current?.control(control),
    async close() {
      const opened = await running?.catch(() => null);
      await opened?.provider.stop();
      await http.close();
    },
  };
}
