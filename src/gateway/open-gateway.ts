import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { Registry } from 'prom-client';
import { type Backlog, openBacklog } from '../../jobs/backlog.ts';
import type { ReceivedSink } from '../../jobs/end-call.ts';
import type { Reports } from '../../jobs/payload.ts';
import { createQueueGauges } from '../../jobs/queue-gauges.ts';
import { createFairness, type Fairness, openQueues, type Queues } from '../../jobs/queues.ts';
import { startReconciling } from '../../jobs/reconcile.ts';
import { type CompletionMap, openCompletionMap } from '../../jobs/wait.ts';
import type { OpenIdSettings } from '../accounts/openid.ts';
import type { RequestLimitSettings } from '../api/limits/limits.ts';
import type { McpSettings } from '../api/mcp/index.ts';
import type { LinkSettings } from '../api/operations/serve-local.ts';
import { createRequestMetrics, type RequestLimits, type RequestMetrics } from '../api/plugins/requests.ts';
import type { AccountLimits, WebhookSettings } from '../batches/limits.ts';
import { createTableWriters } from '../batches/tables/table-writers.ts';
import { type BatchQueue, openBatchQueue, openReplies, type Replies } from '../batches/uploads.ts';
import { NOTE_SERVER } from '../billing/admission.ts';
import type { PaymentSettings } from '../billing/payments/payment-port.ts';
import type { TrialRule } from '../billing/payments/purchase-rules.ts';
import { createSettlements } from '../billing/settlement.ts';
import { setTestUnits } from '../billing/test-wallet.ts';
import type { OffPeakWindow } from '../billing/wallets.ts';
import { TEST_REPORTS } from '../brand-analytics/weeks.ts';
import type { Providers } from '../operations/pools.ts';
import { registerAlertGauge } from '../operator/alerts/alert-gauge.ts';
import {
  createFailureLog,
  createKeyUse,
  createTokenSums,
  createUsageStatistics,
  ofLiveCalls,
} from '../operator/call-records.ts';
import { createStatusMinutes } from '../operator/status/incidents.ts';
import type { MailSettings } from '../outbox/mail/mails.ts';
import type { Clock } from '../platform/clock.ts';
import {
  type Database,
  type DatabaseClock,
  type DatabaseOptions,
  openDatabase,
  STATEMENT_LIMITS,
} from '../platform/db/pool.ts';
import { watchPrimary } from '../platform/db/primary-watch.ts';
import type { Logger } from '../platform/log.ts';
import { STORE_ANSWER_LIMIT_MS } from '../platform/outage.ts';
import { closeRedis, connectRedis, type Redis } from '../platform/redis.ts';
import { type RedisKeys, redisKeys } from '../platform/redis-keys.ts';
import {
  type CallEventSink,
  type CallEvents,
  createCallEvents,
  createCallMetrics,
  createCompletionMetrics,
} from '../platform/telemetry/call-events.ts';
import {
  type CacheErrorSink,
  createCacheFailures,
  createTimeLimitMetrics,
} from '../platform/telemetry/time-limits.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import { type Cache, openCache } from '../results/cache.ts';
import type { OfferedBy } from '../site/kit/page-context.ts';
import { appDepsOf, buildApp } from './app.ts';

export interface StoreSettings {
  databaseUrl: string;
  redisUrl: string;
  /** The setting CACHE_REDIS_URL. Default: cached data is on `redisUrl`. */
  cacheRedisUrl?: string | undefined;
  redisNamespace: string;
  /** The setting STORE_ANSWER_LIMIT_MS. */
  answerLimitMs?: number;
  /** Fewer connections in each pool of the database. Default: `CONNECTIONS`. */
  maxConnections?: number | undefined;
}

/** The connections of a gateway. */
export interface Stores {
  keys: RedisKeys;
  /** For the API. */
  database: Database;
  /** For admission, settlement and key look-ups only, so that no other work can delay them. */
  money: Database;
  /** For the pages of customers and operators, with their exports. */
  pages: Database;
  /** For the checks whether PostgreSQL answers and accepts writes. */
  readiness: Database;
  reports: Reports;
  redis: Redis;
  /** For shared answers. */
  cache: Cache;
  /** A connection in subscriber mode. */
  subscriber: Redis;
  /** For the queues. */
  submitting: Redis;
  /** For uploads, so that commands of calls do not wait behind their pieces. */
  uploading: Redis;
  close(): Promise<void>;
}

/** The most connections of each pool. */
const CONNECTIONS = { money: 6, database: 8, pages: 4, readiness: 1, testReports: 2 } as const;

/** A gateway waits this much longer than an admission may take, so that PostgreSQL reports the outcome before the gateway gives up. */
const ADMISSION_MARGIN_MS = 300;

/** @throws when Redis cannot be reached. */
export async function openStores(
  {
    databaseUrl,
    redisUrl,
    cacheRedisUrl,
    redisNamespace,
    answerLimitMs = STORE_ANSWER_LIMIT_MS,
    maxConnections = Number.POSITIVE_INFINITY,
  }: StoreSettings,
  log: Logger,
  onError: ReturnType<typeof createTimeLimitMetrics> & { cache: CacheErrorSink },
): Promise<Stores> {
  const open = (purpose: keyof typeof CONNECTIONS, options: DatabaseOptions) =>
    openDatabase(databaseUrl, log, {
      ...options,
      max: Math.min(CONNECTIONS[purpose], maxConnections),
      connectMs: answerLimitMs,
      onError: onError.postgresql,
    });
  const { money: limits, requests } = STATEMENT_LIMITS;
  const money = open('money', {
    limits,
    answerMs: answerLimitMs + ADMISSION_MARGIN_MS,
    prepare: NOTE_SERVER,
  });
  const readiness = open('readiness', { limits });
  const database = open('database', { limits: requests });
  const pages = open('pages', { limits: requests });
  const test = open('testReports', { limits: requests, session: TEST_REPORTS });
  const served = [money, database, pages, test];
  const stopWatching = watchPrimary(readiness, served, answerLimitMs, log);
  const serving = { answerLimitMs, onCommandError: onError.redis };
  const redis = await connectRedis(redisUrl, 'serving', log, serving);
  const subscriber = await connectRedis(redisUrl, 'listening', log);
  const submitting = await connectRedis(redisUrl, 'submitting', log, serving);
  const uploading = await connectRedis(redisUrl, 'submitting', log, serving);
  const cache = await openCache(cacheRedisUrl, redis, log, { answerLimitMs, onError: onError.cache });
  return {
    keys: redisKeys(redisNamespace),
    database,
    money,
    pages,
    readiness,
    reports: { live: database, test },
    redis,
    cache,
    subscriber,
    submitting,
    uploading,
    async close() {
      if (cache.isOwn) await closeRedis(cache.redis);
      await closeRedis(redis, submitting, uploading, subscriber);
      await stopWatching();
      await Promise.all([readiness, ...served].map((pool) => pool.end()));
    },
  };
}

/** The call events of a gateway, with their sinks. */
export interface Observers {
  events: CallEvents;
  requestMetrics: RequestMetrics;
  /** Writes the data that has not been written yet. */
  close(): Promise<void>;
}

export function createObservers(
  registry: Registry,
  database: Database,
  clock: Clock,
  log: Logger,
  onEvent: CallEventSink,
): Observers {
  const usage = createUsageStatistics(database, clock, log);
  const tokens = createTokenSums(database, clock, log);
  const minutes = createStatusMinutes(database, clock, log);
  const others = [createKeyUse, createFailureLog].map((create) => create(database, clock, log));
  const requestMetrics = createRequestMetrics(registry);
  const events = createCallEvents(log, [
    ...[createCallMetrics(registry), usage.onEvent, tokens.onEvent, minutes.onEvent].map(ofLiveCalls),
    requestMetrics.onEvent,
    ...others.map((record) => record.onEvent),
    onEvent,
  ]);
  return {
    events,
    requestMetrics,
    async close() {
      await Promise.all([usage, tokens, minutes, ...others].map((record) => record.close()));
    },
  };
}

/** The gateway's side of the job engine: queues for submission, and completion messages. */
export interface JobEngine {
  queues: Queues;
  batchQueue: BatchQueue;
  replies: Replies;
  completions: CompletionMap;
  fairness: Fairness;
  backlog: Backlog;
  /** Ends all waiting: requests that wait for jobs get a 202 with the job. */
  stopWaiting(): Promise<void>;
  close(): Promise<void>;
}

export async function openJobEngine(
  { database, redis, subscriber, submitting, keys }: Stores,
  clock: Clock,
  log: Logger,
  events: CallEvents,
  onReceived: ReceivedSink,
): Promise<JobEngine> {
  const queues = openQueues(submitting, keys, log);
  await queues.waitUntilReady();
  const batchQueue = openBatchQueue(submitting, keys, log);
  await batchQueue.waitUntilReady();
  const replies = await openReplies({ redis, subscriber, keys, clock });
  const completions = await openCompletionMap({
    redis,
    subscriber,
    keys,
    database,
    clock,
    log,
    events,
    onReceived,
  });
  const { onEnded } = completions;
  const fairness = createFairness(clock.now);
  onEnded(({ callId }) => fairness.end(callId));
  const backlog = await openBacklog({ redis, keys, queues, clock, log, onEnded });
  return {
    queues,
    batchQueue,
    replies,
    completions,
    fairness,
    backlog,
    async stopWaiting() {
      await completions.close();
      replies.close();
    },
    async close() {
      await backlog.close();
      await queues.close();
      await batchQueue.close();
    },
  };
}

export interface GatewaySettings extends StoreSettings {
  offPeak: OffPeakWindow;
  providers: Providers;
  links: LinkSettings;
  webhooks: WebhookSettings;
  limits: RequestLimitSettings;
  /** Default: `ACCOUNT_LIMITS`. */
  accountLimits?: AccountLimits | undefined;
  operator?: OperatorSettings;
  pages?: PageSettings;
  /** The setting TRUST_PROXY. */
  trustProxy?: string | undefined;
  mcp: McpSettings;
  /** The settings TEST_MODE and TEST_UNITS_PER_DAY; without them, test keys are refused. */
  testMode?: { unitsPerDay: number } | null;
  /** The setting SECRET_KEY. */
  secretKeys?: readonly string[] | undefined;
  /** Default: `REQUEST_LIMITS`. */
  requestLimits?: RequestLimits;
  connect?: {
    /** The setting CLIENT_REGISTRATIONS_PER_HOUR. */
    registrationsPerHour?: number;
    /** Certificates of authorities besides those of the system, for the metadata of clients. */
    ca?: string;
  };
}

/** Access of operators. */
export interface OperatorSettings {
  /** The setting ADMIN_TOKEN; without it, /admin does not exist. */
  adminToken?: string | undefined;
  /** The setting METRICS_TOKEN; without it, only programs on the same machine may read the metrics, or none while TRUST_PROXY or PUBLIC_URL is set. */
  metricsToken?: string | undefined;
}

/** Settings of the customers' pages. */
export interface PageSettings {
  /** The setting PUBLIC_URL. */
  publicUrl?: string | undefined;
  /** The settings OPERATOR_NAME and OPERATOR_LINKS. */
  offeredBy?: OfferedBy;
  payments: PaymentSettings;
  /** The setting UPSTREAM_TOKEN_PRICE. */
  tokenPrice?: number | undefined;
  /** The setting SUPPORT_GRANT_UNITS. */
  supportGrantUnits?: number;
  /** The setting SIGN_UPS_PER_HOUR. */
  signUpsPerHour?: number;
  /** The setting TRIALS. */
  trials?: TrialRule;
  /** Whether this gateway serves the pictures of the demo provider; default: browsers load pictures from the image host. */
  hasDemoPictures?: boolean;
  /** Serves those pictures, and the ones of test mode. */
  pictureRoutes?: FastifyPluginAsync;
  /** Default: the pages offer nothing that needs mails. */
  mail?: MailSettings | null;
  /** The settings OIDC_*. Default: people sign in by password only. */
  openId?: OpenIdSettings | null;
}

export interface RunningGateway {
  app: FastifyInstance;
  /** The metrics of this gateway. */
  registry: Registry;
  /** Samples the queues now, instead of at the next second. */
  sampleBacklog(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects a gateway to its stores; it does not listen yet.
 * @param onEvent receives each call event of this gateway, in addition to the other sinks. Tests wait for these
 * events.
 * @throws if a store cannot be reached.
 */
export async function openGateway(
  settings: GatewaySettings,
  clock: DatabaseClock,
  log: Logger,
  tracing: Tracing | null = null,
  onEvent: CallEventSink = () => {},
): Promise<RunningGateway> {
  const registry = new Registry();
  const stores = await openStores(settings, log, {
    ...createTimeLimitMetrics(registry),
    cache: createCacheFailures(registry),
  });
  const stopFollowing = await clock.follow(stores.money, log);
  if (settings.testMode) await setTestUnits(stores.money, settings.testMode.unitsPerDay);
  const observers = createObservers(registry, stores.database, clock, log, onEvent);
  const { events } = observers;
  const onReceived = createCompletionMetrics(registry);
  const engine = await openJobEngine(stores, clock, log, events, onReceived);
  const { queues, batchQueue, backlog } = engine;
  const { redis, keys, database } = stores;
  const queueGauges = createQueueGauges(registry, {
    database,
    redis,
    keys,
    queues,
    batchQueue,
    backlog,
    providers: settings.providers,
    clock,
    log,
  });
  const tables = createTableWriters(clock);
  registerAlertGauge(registry, { database, clock, log });
  const parts = { ...stores, ...engine, ...observers, registry, queueGauges, tables, tracing, clock, log };
  const app = buildApp(appDepsOf(settings, parts));
  const stopReconciling = startReconciling({
    database,
    redis,
    keys,
    queues,
    events,
    clock,
    log,
    // It has connections and batches of its own, so that requests do not wait for it.
    settlements: createSettlements(database, clock.now),
  });
  return {
    app,
    registry,
    sampleBacklog: backlog.sample,
    async close() {
      // Requests under way are answered first; those that wait for jobs get a 202.
      await engine.stopWaiting();
      await app.close();
      await tables.close();
      await stopReconciling();
      await observers.close();
      await engine.close();
      await stopFollowing();
      await stores.close();
    },
  };
}
