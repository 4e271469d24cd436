import { Redis } from 'ioredis';
import { test as base } from 'vitest';
import { openDatabase, STATEMENT_LIMITS } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis.ts';
import { holdProducts, knowsEveryProduct } from './answers.ts';
import { openBilling } from './billing.ts';
import type { PageOptions } from './browser.ts';
import { createTestDatabase } from './database.ts';
import { openDemo } from './demo-provider.ts';
import { atFileStart } from './file-start.ts';
import { openMailServer } from './mail-server.ts';
import { openReceiver } from './receiver.ts';
import { openSouk, type Souk, type SoukOptions, showLogOnFailure } from './souk.ts';
import { PATIENCE } from './time.ts';

/**
 * Vitest's `test` with what most tests need: a test names what it uses, `test('...', async ({ souk, client }) => {})`, and the
 * fixture opens and closes it. See test/README.md.
 */
export const test = base
  /** The settings of the demo provider of the file: `test.override('demoSettings', { DEMO_FAIL_RATE: '0.5' })`. */
  .extend('demoSettings', { scope: 'file' }, {} as Record<string, string>)
  /** A demo provider, also for a file whose service asks it: `test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url }))`. */
  .extend('demo', { scope: 'file' }, async ({ demoSettings }, { onCleanup }) => {
    const demo = await openDemo(demoSettings);
    onCleanup(() => demo.close());
    return demo;
  })
  /** How the service of the file is opened: `test.override('soukOptions', { gateways: 2 })`. */
  .extend('soukOptions', { scope: 'file' }, {} as SoukOptions)
  /** The service of the file. */
  .extend('souk', { scope: 'file' }, async ({ soukOptions }, { onCleanup }) => {
    const souk = await openSouk(soukOptions);
    onCleanup(() => souk.close());
    return souk;
  })
  /** A service that no other test uses, for a test that stops or breaks parts of it. */
  .extend('ownSouk', async ({ soukOptions }, { onCleanup }) => {
    const souk = await openSouk(soukOptions);
    onCleanup(() => souk.close());
    return souk;
  })
  /** Opens further services, for a test that compares several or needs other options: `await openAnother({ workers: 0 })`. */
  .extend('openAnother', ({}, { onCleanup }) => {
    const opened: Souk[] = [];
    onCleanup(async () => {
      for (const souk of opened.toReversed()) await souk.close();
    });
    return async (options?: SoukOptions) => {
      const souk = await openSouk(options);
      opened.push(souk);
      return souk;
    };
  })
  /** Opens pages of `souk` in a browser, until the end of the file: `await openPage({ session: customer.cookie })`. */
  .extend('openPage', { scope: 'file' }, async ({ souk }, { onCleanup }) => {
    // The module looks for a browser, which most files do not need.
    const { openBrowser } = await import('./browser.ts');
    const browser = await openBrowser();
    onCleanup(() => browser.close());
    return (options: PageOptions = {}) => browser.page({ baseURL: souk.clientOf('').baseUrl, ...options });
  })
  /** A connection to the Redis of `souk`. */
  .extend('redis', { scope: 'file' }, async ({ souk }, { onCleanup }) => {
    if (!souk.redisUrl.startsWith('redis+cluster:')) {
      const redis = new Redis(souk.redisUrl);
      onCleanup(() => redis.disconnect());
      return redis;
    }
    const cluster = await connectRedis(souk.redisUrl, 'serving', createLogger('silent'), PATIENCE);
    onCleanup(() => closeRedis(cluster));
    // It has the same commands.
    return cluster as Redis;
  })
  /** The upstream of the service, which has every product and no recorded calls of earlier tests. */
  .extend('upstream', ({ souk }) => {
    showLogOnFailure(souk);
    const { upstream } = souk;
    upstream.calls.length = 0;
    upstream.on('product', knowsEveryProduct);
    return upstream;
  })
  /** An account that no other test uses, without limits. */
  .extend('account', ({ souk }) => souk.account())
  /** Sends requests to the first gateway as that account. */
  .extend('client', ({ souk, account, upstream: _ }) => souk.clientOf(account.key))
  /** A server that takes webhooks. */
  .extend('receiver', async ({}, { onCleanup }) => {
    const receiver = await openReceiver();
    onCleanup(() => receiver.close());
    return receiver;
  })
  /** A server that takes mails, also for a file whose service sends to it. */
  .extend('mailServer', { scope: 'file' }, async ({}, { onCleanup }) => {
    const server = await openMailServer();
    onCleanup(() => server.close());
    return server;
  })
  /** Admission and settlement on a database of the file, without the rest of the service. */
  .extend('billing', { scope: 'file' }, async ({}, { onCleanup }) => {
    const billing = await openBilling();
    onCleanup(() => billing.close());
    return billing;
  })
  /** A migrated database of the file, for tests of what only needs that. */
  .extend('database', { scope: 'file' }, async ({}, { onCleanup }) => {
    const { url, drop } = await createTestDatabase();
    const database = openDatabase(url, createLogger('silent'), { limits: STATEMENT_LIMITS.unlimited });
    onCleanup(async () => {
      await database.end();
      await drop();
    });
    return database;
  });

/** `test` with an upstream that holds back its answers for products until the test calls `release`, or ends. */
export const testWithHeldProducts = test.extend('release', { auto: true }, ({ upstream }, { onCleanup }) => {
  const release = holdProducts(upstream);
  onCleanup(release);
  return release;
});

// Vitest keeps an override of a file in `test` itself, which the next files of the process share.
atFileStart.push(() => test.override('soukOptions', {}).override('demoSettings', {}));
atFileStart.push(() => testWithHeldProducts.override('soukOptions', {}).override('demoSettings', {}));
