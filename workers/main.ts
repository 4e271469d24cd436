import { collectDefaultMetrics } from 'prom-client';
import { parseWindow } from '../src/billing/wallets.ts';
import { readConfig, requireSettings, testModeOf } from '../src/config/config.ts';
import { accountLimits, webhookLimits } from '../src/config/limits.ts';
import { providersOf } from '../src/config/providers.ts';
import { workerSettings } from '../src/config/start-up.ts';
import { databaseClock } from '../src/platform/db/pool.ts';
import { createLogger } from '../src/platform/log.ts';
import { runProcess } from '../src/platform/process.ts';
import { openTracing } from '../src/platform/telemetry/tracing.ts';
import { startDemoProcess } from '../src/start/demo-process.ts';
import { TEST_REPORTS_SIZE } from './background/test-reports.ts';
import { openMetricsServer } from './metrics-server.ts';
import { openWorker } from './worker.ts';

/** The worker process: runs the jobs of the pools in WORKER_POOLS until a signal stops it. */
await runProcess('worker', async (env) => {
  const config = requireSettings(readConfig(env), 'DATABASE_URL', 'REDIS_URL', 'KEEPA_API_KEY');
  const log = createLogger(config.LOG_LEVEL);
  const tracing = await openTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, 'souk-worker', (reason) =>
    log.warn({ reason }, 'failed to send traces'),
  );
  const clock = databaseClock();
  const worker = await openWorker(
    {
      databaseUrl: config.DATABASE_URL,
      redisUrl: config.REDIS_URL,
      cacheRedisUrl: config.CACHE_REDIS_URL,
      answerLimitMs: config.STORE_ANSWER_LIMIT_MS,
      redisNamespace: config.REDIS_NAMESPACE,
      keepaBaseUrl: config.KEEPA_BASE_URL,
      keepaAccounts: config.KEEPA_API_KEY,
      trendsBaseUrl: config.TRENDS_BASE_URL,
      providers: providersOf(config),
      pools: config.WORKER_POOLS,
      largeJobs: { logLevel: config.LOG_LEVEL, tracesUrl: config.OTEL_EXPORTER_OTLP_ENDPOINT },
      webhooks: { allowPrivate: config.WEBHOOK_ALLOW_PRIVATE, limits: webhookLimits(config) },
      startTestProvider: testModeOf(config) ? startDemoProcess : undefined,
      testReports: TEST_REPORTS_SIZE,
      secretKeys: config.SECRET_KEY,
      accountLimits: accountLimits(config),
      ...workerSettings(config),
      offPeak: parseWindow(config.OFF_PEAK_WINDOW, config.OFF_PEAK_TIMEZONE),
    },
    clock,
    log,
    tracing,
  );
  collectDefaultMetrics({ register: worker.registry });
  const { HOST: host, METRICS_PORT: port, METRICS_TOKEN: token } = config;
  const metrics =
    port === undefined ? null : await openMetricsServer(worker.registry, { host, port, token, clock });
  // This call is free. Jobs do not wait for it, but without a token reading only a few may start.
  void worker.learnTokens();
  return {
    async close() {
      await worker.close();
      await metrics?.close();
      await tracing?.close();
    },
    leaveWithoutRedis: () => worker.leaveWithoutRedis(),
    ready: `Worker ready: ${config.WORKER_POOLS.join(', ')}`,
  };
});
