import { Registry } from 'prom-client';
import { onControl } from '../jobs/control.ts';
import { openQueues } from '../jobs/queues.ts';
import { reconcile, startReconciling } from '../jobs/reconcile.ts';
import { createRunTimes } from '../jobs/run-times.ts';
import { createSettlements } from '../src/billing/settlement.ts';
import { createProductLabels } from '../src/brand-analytics/product-labels.ts';
import { TEST_REPORTS } from '../src/brand-analytics/test-reports.ts';
import { BATCH_POOL, TEST_POOL, type WorkerPoolName } from '../src/operations/pools.ts';
import type { Providers } from '../src/operations/providers.ts';
import { createFailureLog } from '../src/operator/failure-log.ts';
import { ofLiveCalls } from '../src/operator/live-calls.ts';
import { startMaintenance } from '../src/operator/maintenance.ts';
import { RETENTION, type RetentionSettings } from '../src/operator/retention-settings.ts';
import { createStatusMinutes } from '../src/operator/status/status-minutes.ts';
import { createUsageStatistics } from '../src/operator/usage-statistics.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { DatabaseClock } from '../src/platform/db/database-clock.ts';
import { openDatabase, STATEMENT_LIMITS } from '../src/platform/db/pool.ts';
import type { Logger } from '../src/platform/log.ts';
import { closeRedis, connectRedis } from '../src/platform/redis.ts';
import { redisKeys } from '../src/platform/redis-keys.ts';
import { createCacheFailures } from '../src/platform/telemetry/cache-failures.ts';
import { type CallEventSink, createCallEvents } from '../src/platform/telemetry/call-events.ts';
import { createCallMetrics } from '../src/platform/telemetry/call-metrics.ts';
import { createJobMetrics } from '../src/platform/telemetry/job-metrics.ts';
import { createTimeLimitMetrics } from '../src/platform/telemetry/time-limits.ts';
import type { Tracing } from '../src/platform/telemetry/tracing.ts';
import { createAnswerStore } from '../src/results/answer-store.ts';
import { openCache } from '../src/results/cache.ts';
import { createHttpClient } from '../src/upstream/http-client.ts';
import { createProductLookUps, LOOK_UP_WINDOW_MS } from '../src/upstream/keepa/look-ups.ts';
import { createKeepaTransport, type KeepaTransport } from '../src/upstream/keepa/transport.ts';
import { createTokenBucket } from '../src/upstream/token-bucket.ts';
import { openTrends } from '../src/upstream/trends/open-trends.ts';
import { tracedHttpClient } from '../src/upstream/upstream-spans.ts';
import { type BackgroundSettings, openBackground } from './background/open-background.ts';
import { openTestReports, type TestReportsSize } from './background/test-reports.ts';
import { createExecutor } from './executor.ts';
import { openPoolWorker } from './pool.ts';
import { openSingleFlight } from './single-flight.ts';
import { createSources } from './sources.ts';
import { createTestMode, type TestProvider } from './test-mode.ts';

export interface WorkerSettings extends BackgroundSettings {
  redisUrl: string;
  /** The setting CACHE_REDIS_URL. Default: cached data is on `redisUrl`. */
  cacheRedisUrl?: string | undefined;
  /** The setting STORE_ANSWER_LIMIT_MS, for a Redis of cached data. Jobs wait for the other stores. */
  answerLimitMs?: number;
  redisNamespace: string;
  /** The setting QUEUE_SHARDS. Default: 1. */
  queueShards?: number | undefined;
  keepaBaseUrl: string;
  keepaKey: string;
  trendsBaseUrl: string;
  providers: Providers;
  pools: readonly WorkerPoolName[];
  /** See `createProductLookUps`. Default: `LOOK_UP_WINDOW_MS`. */
  lookUpWindowMs?: number;
  /** Starts the demo provider that answers test calls. Without it, the worker does not serve the pool `test`. */
  startTestProvider?: (() => Promise<TestProvider>) | undefined;
  /** The generated reports of test keys. Without it, or without `startTestProvider`, the worker loads none. */
  testReports?: TestReportsSize | undefined;
  /** Default: `RETENTION`. */
  retention?: RetentionSettings;
}

/** A worker with everything that a process needs to run the jobs of some pools. */
export interface SoukWorker {
  /** The metrics of this worker. */
  registry: Registry;
  /** Requests the number of tokens from the provider. A failure is only logged. */
  learnTokens(): Promise<void>;
  /** Runs the reconciler once. It also runs every few seconds. */
  reconcile(): Promise<void>;
  close(): Promise<void>;
}

const TOKEN_QUESTION_MS = 10_000;

/** The most connections of each pool. */
const CONNECTIONS = { requests: 8, money: 4, reports: 8, testReports: 4, upkeep: 2 } as const;

/** How long the ending of a job waits for an account that another transaction has locked. */
const LOCK_PATIENCE_MS = 10_000;

/**
 * Connects to all stores and starts working.
 * @param onEvent receives each call event of this worker, in addition to the other sinks. Tests wait for these
 * events.
 * @throws if a store cannot be reached.
 */
export async function openWorker(
  settings: WorkerSettings,
  clock: DatabaseClock,
  log: Logger,
  tracing: Tracing | null = null,
  onEvent: CallEventSink = () => {},
): Promise<SoukWorker> {
  const { databaseUrl, redisUrl, cacheRedisUrl, redisNamespace, providers } = settings;
  const keys = redisKeys(redisNamespace);
  const registry = new Registry();
  const timeLimits = createTimeLimitMetrics(registry);
  const open = (purpose: keyof typeof STATEMENT_LIMITS & keyof typeof CONNECTIONS) =>
    openDatabase(databaseUrl, log, {
      ...{ max: CONNECTIONS[purpose], limits: STATEMENT_LIMITS[purpose] },
      onError: timeLimits.postgresql,
    });
  const [database, money, upkeep] = [open('requests'), open('money'), open('upkeep')];
  const reports = {
    live: open('reports'),
    test: openDatabase(databaseUrl, log, {
      ...{ max: CONNECTIONS.testReports, limits: STATEMENT_LIMITS.reports, session: TEST_REPORTS },
      onError: timeLimits.postgresql,
    }),
  };
  const stopFollowing = await clock.follow(upkeep, log);
  const redis = await connectRedis(redisUrl, 'working', log);
  const subscriber = await connectRedis(redisUrl, 'listening', log);
  const pulling = await connectRedis(redisUrl, 'pulling', log);
  const cache = await openCache(cacheRedisUrl, redis, log, {
    answerLimitMs: settings.answerLimitMs,
    onError: createCacheFailures(registry),
  });
  const flightsSubscriber = cacheRedisUrl
    ? await connectRedis(cacheRedisUrl, 'listening', log, { isOptional: true })
    : subscriber;
  const queues = openQueues(pulling, keys, log, settings.queueShards);
  const usage = createUsageStatistics(database, clock, log);
  const minutes = createStatusMinutes(database, clock, log);
  const failures = createFailureLog(database, clock, log);
  const runTimes = createRunTimes({ redis, keys, clock, log });
  const events = createCallEvents(log, [
    ...[createCallMetrics(registry), createJobMetrics(registry), usage.onEvent, minutes.onEvent].map(
      ofLiveCalls,
    ),
    failures.onEvent,
    runTimes.onEvent,
    onEvent,
  ]);

  const settlements = createSettlements(money, clock.now, LOCK_PATIENCE_MS);
  const answers = createAnswerStore(redis, keys, cache);
  const flights = await openSingleFlight({ cache, subscriber: flightsSubscriber, keys, clock, log });
  const sources = createSources(flights, clock, events);
  const http = tracing ? tracedHttpClient(createHttpClient(), tracing) : createHttpClient();
  const tokens = createTokenBucket(redis, keys.tokens(providers.products), clock);
  const { keepaBaseUrl: baseUrl, keepaKey: key, trendsBaseUrl } = settings;
  const productLabels = createProductLabels(database, providers.products, clock, log);
  const keepa = productLabels.learningFrom(createKeepaTransport({ baseUrl, key, http, tokens, clock, log }));
  const trends = openTrends({ baseUrl: trendsBaseUrl, provider: providers.trends, http, redis, keys, clock });
  const { lookUpWindowMs = LOOK_UP_WINDOW_MS } = settings;
  const products = createProductLookUps(keepa, clock, lookUpWindowMs);
  const upstream = {
    keepa,
    products,
    trends,
    reports: { database: reports.live, provider: providers.reports },
  };
  const executing = { redis, keys, sources, answers, settlements, events, tracing, clock, log };
  const live = createExecutor({ ...executing, upstream, providers, mode: 'live' });
  const { startTestProvider: start } = settings;
  const test = start ? createTestMode({ ...executing, reports: reports.test, start, lookUpWindowMs }) : null;
  await onControl({ subscriber, log }, keys, (control) => {
    live.control(control);
    test?.control(control);
  });

  const pools = await Promise.all(
    settings.pools.flatMap((pool) => {
      if (pool === BATCH_POOL) return [];
      const execute = pool === TEST_POOL ? test?.execute : live.execute;
      return execute ? [openPoolWorker({ pool, redis, pulling, keys, queues, execute, clock, log })] : [];
    }),
  );
  const background = settings.pools.includes(BATCH_POOL)
    ? await openBackground(settings, {
        ...{ database, money, reports, redis, subscriber, pulling, keys, queues, settlements, answers },
        ...{ providers, events, registry, tracing, clock, log },
      })
    : null;
  const { testReports: size } = settings;
  const testReports =
    test && size && settings.pools.includes(TEST_POOL)
      ? openTestReports({ databaseUrl, database: upkeep, reports: reports.test, size, clock, log })
      : null;
  const stopMaintenance = startMaintenance({
    ...{ database: upkeep, redis, keys, providers, clock, log, retention: settings.retention ?? RETENTION },
  });
  const reconciling = { database: upkeep, redis, keys, queues, settlements, events, clock, log };
  const stopReconciling = startReconciling(reconciling);

  return {
    registry,
    learnTokens: () => learnTokens(keepa, clock, log),
    reconcile: () => reconcile(reconciling),
    async close() {
      await stopReconciling();
      await background?.close();
      await Promise.all(pools.map((pool) => pool.close()));
      await test?.close();
      await testReports?.close();
      await productLabels.close();
      await stopMaintenance();
      await Promise.all([usage.close(), minutes.close(), failures.close(), runTimes.close()]);
      await flights.close();
      await queues.close();
      await closeRedis(redis, pulling, subscriber, ...(cache.isOwn ? [cache.redis, flightsSubscriber] : []));
      await stopFollowing();
      const opened = [database, money, reports.live, reports.test, upkeep];
      await Promise.all(opened.map((pool) => pool.end()));
      await http.close();
    },
  };
}

async function learnTokens(keepa: KeepaTransport, clock: Clock, log: Logger): Promise<void> {
  const signal = AbortSignal.timeout(TOKEN_QUESTION_MS);
  const context = { signal, deadlineAt: clock.now() + TOKEN_QUESTION_MS, background: false };
  await keepa
    .json({ path: 'token', params: {}, cost: 0 }, context)
    .catch((error: unknown) =>
      log.warn({ err: error }, 'failed to request the number of tokens from the provider'),
    );
}
