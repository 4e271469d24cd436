import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { inject, onTestFailed } from 'vitest';
import { pictureRoutes } from '../../demo/pictures/drawing.ts';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/authentication.ts';
import { NO_LIMITS, type RequestLimitSettings } from '../../src/api/limits/limits.ts';
import type { McpSettings } from '../../src/api/mcp/index.ts';
import { ACCOUNT_LIMITS, type AccountLimits } from '../../src/batches/limits.ts';
import { grantSubscription, type Plan, upsertPlan } from '../../src/billing/grants.ts';
import { TEST_UNITS_PER_DAY } from '../../src/billing/test-wallet.ts';
import type { OffPeakWindow, Wallet } from '../../src/billing/wallets.ts';
import { mcpSettings, readConfig } from '../../src/config/config.ts';
import {
  type GatewaySettings,
  type OperatorSettings,
  openGateway,
  type PageSettings,
  type RunningGateway,
} from '../../src/gateway/open-gateway.ts';
import { type Providers, WORKER_POOL_NAMES, type WorkerPoolName } from '../../src/operations/pools.ts';
import type { AlertReceivers } from '../../src/operator/alerts/messages.ts';
import type { MailSettings } from '../../src/outbox/mail/mails.ts';
import type { WebhookLimits } from '../../src/outbox/webhooks/webhook-limits.ts';
import {
  type Database,
  type DatabaseClock,
  openDatabase,
  STATEMENT_LIMITS,
} from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import type { Tracing } from '../../src/platform/telemetry/tracing.ts';
import type { ProviderAccount } from '../../src/upstream/provider-accounts.ts';
import type { TestReportsSize } from '../../workers/background/test-reports.ts';
import { GRACE_MS } from '../../workers/pool.ts';
import type { TestProvider } from '../../workers/test-mode.ts';
import { openWorker, type SoukWorker } from '../../workers/worker.ts';
import { knowsEveryProduct } from './answers.ts';
import { type CallEventSpy, createCallEventSpy } from './call-event-spy.ts';
import { type Client, createClient } from './client.ts';
import { TestClock } from './clock.ts';
import { createTestDatabase } from './database.ts';
import { REPORTS } from './reports.ts';
import { openScriptedUpstream, type ScriptedUpstream } from './scripted-upstream.ts';
import { PATIENCE } from './time.ts';

export const UPSTREAM_KEY = 'operators-own-upstream-key';

export interface Souk {
  clock: TestClock;
  /** Has every product until a test scripts another answer. */
  upstream: ScriptedUpstream;
  database: Database;
  databaseUrl: string;
  redisUrl: string;
  redisNamespace: string;
  providers: Providers;
  /** Everything the gateways and workers have logged. */
  logLines: string[];
  /** The call events of all gateways and workers. */
  events: CallEventSpy;
  gateways: RunningGateway[];
  workers: SoukWorker[];
  /** A client of the first gateway, or of another, with a key of a new account. */
  client(options?: AccountOptions & { gateway?: number }): Promise<Client>;
  account(options?: AccountOptions): Promise<TestAccount>;
  clientOf(key: string, gateway?: number): Client;
  /** @param clock of the machine it runs on; default: that of the service. */
  addGateway(clock?: DatabaseClock): Promise<void>;
  addWorker(pools?: readonly WorkerPoolName[], clock?: DatabaseClock): Promise<SoukWorker>;
  /** Does nothing the second time. */
  close(): Promise<void>;
}

export interface AccountOptions {
  /** null: no subscription. */
  plan?: Partial<Plan> | null;
  wallet?: Wallet;
}

export interface TestAccount {
  accountId: number;
  key: string;
}

/** How a service is opened; by default one gateway and one worker. */
export interface SoukOptions {
  gateways?: number;
  workers?: number;
  upstreamUrl?: string;
  /** The setting KEEPA_API_KEY. Default: an account `main` with the key UPSTREAM_KEY. */
  accounts?: readonly ProviderAccount[];
  /** The setting SECRET_KEY. Default: secrets are stored as they are. */
  secretKeys?: readonly string[];
  /** The demo provider that answers test calls. Default: none, so that test keys are refused. */
  testUrl?: string;
  /** Starts the provider of test calls. Default: that of `testUrl`, which runs already. */
  startTestProvider?: () => Promise<TestProvider>;
  /** The generated reports of test keys. Default: none are loaded. */
  testReports?: TestReportsSize;
  /** Default: the names of `upstreamUrl`. */
  providers?: Providers;
  /** Default: a new one. */
  redisNamespace?: string;
  /** Runs large jobs in a thread, which has the time of PostgreSQL. Default: in the thread of the other jobs. */
  largeJobs?: boolean;
  clock?: DatabaseClock;
  offPeak?: OffPeakWindow;
  allowPrivateWebhooks?: boolean;
  /** Default: `ACCOUNT_LIMITS`. */
  accountLimits?: Partial<AccountLimits>;
  /** Default: `WEBHOOK_LIMITS`. */
  webhookLimits?: WebhookLimits;
  /** Default: no limits, since most tests send many requests for one account. */
  limits?: Partial<RequestLimitSettings>;
  operator?: OperatorSettings;
  pages?: PageSettings;
  mcp?: McpSettings;
  /** Default: no mails are sent. */
  mail?: MailSettings;
  /** Where alerts are sent. Default: nowhere. */
  alerts?: AlertReceivers;
  tracing?: Tracing;
  /** Further settings of the gateways. */
  gateway?: Partial<GatewaySettings>;
  /** Servers of the test, with an empty database. Default: those of the run, with a database of the service's own. */
  servers?: { databaseUrl: string; redisUrl: string };
  /** The setting STORE_ANSWER_LIMIT_MS. Default: a minute, or for servers of the test that of the setting. */
  answerLimitMs?: number;
  /** The setting CACHE_REDIS_URL. Default: cached data is on the same Redis. */
  cacheRedisUrl?: string;
  /** The most connections of each pool of gateways and workers. Default: `CONNECTIONS`. */
  connections?: number;
}

/** Few, because opening a connection costs more than most requests of a test; more than one, so that statements meet. */
export const CONNECTIONS = 2;

/**
 * A whole service: real PostgreSQL and Redis, real HTTP on both sides, a clock that the test advances, and a scripted upstream.
 */
export async function openSouk(options: SoukOptions = {}): Promise<Souk> {
  const database = options.servers
    ? { url: options.servers.databaseUrl, drop: async () => {} }
    : await createTestDatabase();
  const upstream = await openScriptedUpstream();
  upstream.on('product', knowsEveryProduct);
  const clock = new TestClock();
  const usedClock = options.clock ?? clock;
  const redisUrl = options.servers?.redisUrl ?? inject('serviceRedisUrl');
  const redisNamespace = options.redisNamespace ?? `test-${randomBytes(6).toString('hex')}`;
  const upstreamUrl = options.upstreamUrl ?? upstream.url;
  const providers = options.providers ?? { products: upstreamUrl, trends: upstreamUrl, reports: REPORTS };
  const logLines: string[] = [];
  const log = createLogger('debug', { write: (line) => void logLines.push(line) });
  const events = createCallEventSpy();
  const pool = openDatabase(database.url, log, { limits: STATEMENT_LIMITS.unlimited });
  const gateways: RunningGateway[] = [];
  const workers: SoukWorker[] = [];
  const offPeak = options.offPeak ?? { start: '19:00', end: '07:00', timezone: 'Asia/Shanghai' };
  // Stores of the run are slow on a busy machine. Servers of the test are those that it stops.
  const { answerLimitMs } = options;
  const patience = answerLimitMs ? { answerLimitMs } : options.servers ? {} : PATIENCE;
  const { cacheRedisUrl } = options;
  const maxConnections = options.connections ?? CONNECTIONS;
  const stores = { databaseUrl: database.url, redisUrl, redisNamespace, maxConnections };

  const souk: Souk = {
    clock,
    upstream,
    database: pool,
    ...stores,
    providers,
    logLines,
    events,
    gateways,
    workers,

    async addGateway(ownClock = usedClock) {
      const gateway = await openGateway(
        {
          ...stores,
          cacheRedisUrl,
          ...patience,
          offPeak,
          providers,
          links: {
            chartSiteUrl: 'https://charts.test',
            imageCdnUrl: 'https://images.test',
            testImageUrl: 'https://souk.test',
          },
          webhooks: webhooksOf(options),
          accountLimits: { ...ACCOUNT_LIMITS, ...options.accountLimits },
          limits: { ...NO_LIMITS, ...options.limits },
          operator: options.operator ?? {},
          // Most tests sign up more visitors than one network may.
          pages: {
            signUpsPerHour: 1_000,
            pictureRoutes,
            ...(options.pages ?? { payments: { way: 'manual', currency: 'usd' } }),
            mail: options.mail ?? null,
          },
          mcp: options.mcp ?? mcpSettings(readConfig({})),
          connect: { registrationsPerHour: 1_000 },
          testMode:
            options.testUrl === undefined && !options.startTestProvider
              ? null
              : { unitsPerDay: TEST_UNITS_PER_DAY },
          secretKeys: options.secretKeys,
          ...options.gateway,
        },
        ownClock,
        log,
        options.tracing,
        events.onEvent,
      );
      await gateway.app.listen({ host: '127.0.0.1', port: 0 });
      gateways.push(gateway);
    },

    async addWorker(pools = WORKER_POOL_NAMES, ownClock = usedClock) {
      const upstreams = {
        keepaBaseUrl: upstreamUrl,
        secretKeys: options.secretKeys,
        keepaAccounts: options.accounts ?? [{ name: 'main', key: UPSTREAM_KEY }],
        trendsBaseUrl: upstreamUrl,
        providers,
      };
      const webhooks = webhooksOf(options);
      const settings = {
        ...stores,
        cacheRedisUrl,
        ...patience,
        ...upstreams,
        pools,
        ...(options.largeJobs && { largeJobs: { logLevel: 'silent' } }),
        offPeak,
        webhooks,
        accountLimits: { ...ACCOUNT_LIMITS, ...options.accountLimits },
        mail: options.mail ?? null,
        ...(options.alerts && { alerts: options.alerts }),
        startTestProvider: options.startTestProvider ?? testProviderOf(options),
        testReports: options.testReports,
        stripe: stripeOf(options),
      };
      const worker = await openWorker(settings, ownClock, log, options.tracing, events.onEvent);
      workers.push(worker);
      for (const gateway of gateways) await gateway.sampleBacklog();
      return worker;
    },

    async account({ plan = {}, wallet = 'general' } = {}) {
      const now = usedClock.now();
      const name = randomBytes(6).toString('hex');
      const accountId = await ensureAccount(pool, `${name}@test.example`, name, now);
      if (plan !== null) {
        const unlimited = {
          code: name,
          name: 'Test',
          minuteLimit: null,
          dailyLimit: null,
          monthlyLimit: null,
        };
        const planId = await upsertPlan(pool, { ...unlimited, ...plan });
        const [startsAt, endsAt] = [new Date(now - 86_400_000), new Date(now + 365 * 86_400_000)];
        await grantSubscription(pool, { accountId, wallet, planId, quantity: 1, startsAt, endsAt });
      }
      return { accountId, key: await createKey(pool, accountId, now) };
    },

    clientOf(key, gateway = 0) {
      const address = gateways[gateway]?.app.server.address();
      const { port } = address as AddressInfo;
      return createClient(`http://127.0.0.1:${port}`, key);
    },

    async client({ gateway, ...account } = {}) {
      return souk.clientOf((await souk.account(account)).key, gateway);
    },

    close: () => {
      closed ??= close();
      return closed;
    },
  };

  /** A test may have stopped Redis, for which a worker waits when it closes. */
  async function stop(worker: (typeof workers)[number]): Promise<void> {
    const isLeft = await worker.leaveWithoutRedis();
    const closed = worker.close();
    // No test waits for the jobs that still run, and no other code moves the clock.
    clock.advance(GRACE_MS);
    if (isLeft) closed.catch(() => {});
    else await closed;
  }

  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    await Promise.all(gateways.map((gateway) => gateway.close()));
    await Promise.all(workers.map(stop));
    await upstream.close();
    await pool.end();
    await database.drop();
  }

  for (let i = 0; i < (options.gateways ?? 1); i += 1) await souk.addGateway();
  for (let i = 0; i < (options.workers ?? 1); i += 1) await souk.addWorker();
  return souk;
}

/** Shows what the service has logged when the running test fails. */
export function showLogOnFailure({ logLines }: Souk): void {
  onTestFailed(() => {
    process.stderr.write(logLines.slice(-40).join(''));
  });
}

function testProviderOf({ testUrl: url }: SoukOptions) {
  return url === undefined
    ? undefined
    : async () => ({ url, ended: new Promise<void>(() => {}), async stop() {} });
}

function stripeOf({ pages }: SoukOptions) {
  const way = pages?.payments.way;
  return typeof way === 'object' ? way : undefined;
}

function webhooksOf({ allowPrivateWebhooks: allowPrivate = true, webhookLimits: limits }: SoukOptions) {
  return { allowPrivate, ...(limits && { limits }) };
}
