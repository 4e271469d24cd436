import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { createRunTimes } from '../jobs/backlog.ts';
import { onControl } from '../jobs/control.ts';
import { openQueues } from '../jobs/queues.ts';
import { reconcile, startReconciling } from '../jobs/reconcile.ts';
import { TEST_REPORTS } from '../src/brand-analytics/weeks.ts';
import { BATCH_POOL, TEST_POOL, type WorkerPoolName } from '../src/operations/pools.ts';
import { type AlertReceivers, NO_RECEIVERS } from '../src/operator/alerts/messages.ts';
import {
  createAccountStatistics,
  createFailureLog,
  createTokenSums,
  createUsageStatistics,
  ofLiveCalls,
} from '../src/operator/call-records.ts';
import { startMaintenance } from '../src/operator/maintenance.ts';
import { RETENTION, type RetentionSettings } from '../src/operator/retention.ts';
import { createStatusMinutes } from '../src/operator/status/incidents.ts';
import type { Clock } from '../src/platform/clock.ts';
import { CANCELLABLE } from '../src/platform/db/cancellable.ts';
import {
  type Database,
  type DatabaseClock,
  openDatabase,
  STATEMENT_LIMITS,
} from '../src/platform/db/pool.ts';
import type { Logger } from '../src/platform/log.ts';
import { STORE_ANSWER_LIMIT_MS } from '../src/platform/outage.ts';
import { closeRedis, connectRedis, type Redis, takesWrites } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import {
  type CallEventSink,
  type CallEvents,
  createCallEvents,
  createCallMetrics,
  createJobMetrics,
} from '../src/platform/telemetry/call-events.ts';
import { createCacheFailures, createTimeLimitMetrics } from '../src/platform/telemetry/time-limits.ts';
import type { Tracing } from '../src/platform/telemetry/tracing.ts';
import { type BackgroundSettings, openBackground } from './background/open-background.ts';
import { openTestReports, type TestReportsSize } from './background/test-reports.ts';
import type { Executor } from './executor.ts';
import { createLargeJobs, isLarge } from './large-jobs/large-jobs.ts';
import { PAUSING_SHARE, type ThreadSetup } from './large-jobs/messages.ts';
import { type JobSettings, jobSettings, openJobStores, openLiveJobs, type StoreErrors } from './live-jobs.ts';
import { openPoolWorker } from './pool.ts';
import { createTestMode, type TestProvider } from './test-mode.ts';

export interface WorkerSettings extends BackgroundSettings, JobSettings {
  /** Fewer connections in each pool of the database. Default: `CONNECTIONS`. */
  maxConnections?: number | undefined;
  pools: readonly WorkerPoolName[];
  /** Runs large jobs in a thread of their own. Default: in the process, with the others. */
  largeJobs?: Pick<ThreadSetup, 'logLevel' | 'tracesUrl'>;
  /** Starts the demo provider that answers test calls. Without it, the worker does not serve the pool `test`. */
  startTestProvider?: (() => Promise<TestProvider>) | undefined;
  /** The generated reports of test keys. Without it, or without `startTestProvider`, the worker loads none. */
  testReports?: TestReportsSize | undefined;
  /** Default: `RETENTION`. */
  retention?: RetentionSettings;
  /** Default: alerts are only shown. */
  alerts?: AlertReceivers;
}

/** A worker with everything that a process needs to run the jobs of some pools. */
export type SoukWorker = Awaited<ReturnType<typeof openWorker>>;

/** How long a worker that leaves without Redis takes to store its statistics. */
const LEAVE_LIMIT_MS = 1_000;

/** The most connections of each pool. */
const CONNECTIONS = { requests: 8, money: 4, reports: 8, testReports: 4, upkeep: 2 } as const;

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
) {
  const { databaseUrl, providers } = settings;
  const registry = new Registry();
  const timeLimits = createTimeLimitMetrics(registry);
  const onError = { postgresql: timeLimits.postgresql, cache: createCacheFailures(registry) };
  const opened = await openWorkerStores(settings, clock, onError, log);
  const { stores, upkeep, reports, pulling } = opened;
  const { keys, database, redis } = stores;
  const queues = openQueues(pulling, keys, log);
  const { products: provider } = providers;
  const sinks = openSinks({ database, redis, keys, provider, registry, clock, log }, onEvent);
  const { events } = sinks;
  const observers = { events, tracing, clock, log };

  const runners = await openRunners(settings, opened, { ...observers, onError });
  const { live, pools, test } = runners;
  const { settlements, executing } = live;
  const { answers } = executing;
  const background = settings.pools.includes(BATCH_POOL)
    ? await openBackground(settings, {
        ...stores,
        ...observers,
        reports,
        pulling,
        queues,
        settlements,
        answers,
        providers,
        registry,
      })
    : null;
  const { testReports: size } = settings;
  const testReports =
    test && size && settings.pools.includes(TEST_POOL)
      ? openTestReports({ databaseUrl, database: upkeep, reports: reports.test, size, clock, log })
      : null;
  const { retention = RETENTION, alerts = NO_RECEIVERS } = settings;
  // They send the messages, too.
  const receivers = settings.pools.includes(BATCH_POOL) ? alerts : null;
  const maintained = { database: upkeep, redis, keys, queues, providers, clock, log, retention, receivers };
  const stopMaintenance = startMaintenance(maintained);
  const reconciling = { database: upkeep, redis, keys, queues, settlements, events, clock, log };
  const stopReconciling = startReconciling(reconciling);

  return {
    /** The metrics of this worker. */
    registry,
    learnTokens: live.learnTokens,
    /** Runs the reconciler once. It also runs every few seconds. */
    reconcile: () => reconcile(reconciling),
    async close(): Promise<void> {
      await Promise.all([stopReconciling(), background?.close(), ...pools.map((pool) => pool.close())]);
      await runners.close();
      await testReports?.close();
      await stopMaintenance();
      await sinks.close();
      await live.close();
      await queues.close();
      await opened.close();
    },
    /**
     * Stops the running jobs if Redis is down, for a process that exits: other workers run them again. `close` waits for Redis.
     * @returns whether Redis is down.
     */
    async leaveWithoutRedis(): Promise<boolean> {
      if (await takesWrites(redis, settings.answerLimitMs ?? STORE_ANSWER_LIMIT_MS)) return false;
      const callIds = pools.flatMap((pool) => pool.abandon());
      log.warn({ callIds }, 'stopping without Redis, which is down: other workers run these jobs again');
      await Promise.race([sinks.close(), pause(LEAVE_LIMIT_MS)]);
      return true;
    },
  };
}

/** Connects to the stores of a worker, and follows the clock of PostgreSQL. */
async function openWorkerStores(
  settings: WorkerSettings,
  clock: DatabaseClock,
  onError: Parameters<typeof openJobStores>[2],
  log: Logger,
) {
  const most = (purpose: keyof typeof CONNECTIONS) =>
    Math.min(CONNECTIONS[purpose], settings.maxConnections ?? Number.POSITIVE_INFINITY);
  const connections = { requests: most('requests'), money: most('money') };
  const stores = await openJobStores(settings, connections, onError, log);
  const open = (purpose: 'reports' | 'upkeep', max: number, session = {}) =>
    openDatabase(settings.databaseUrl, log, {
      max,
      limits: STATEMENT_LIMITS[purpose],
      session: { ...CANCELLABLE, ...session },
      onError: onError.postgresql,
    });
  const upkeep = open('upkeep', most('upkeep'));
  const reports = {
    live: open('reports', most('reports')),
    test: open('reports', most('testReports'), TEST_REPORTS),
  };
  const stopFollowing = await clock.follow(upkeep, log);
  const pulling = await connectRedis(settings.redisUrl, 'pulling', log);
  return {
    stores,
    upkeep,
    reports,
    pulling,
    async close() {
      await closeRedis(pulling);
      await stopFollowing();
      await Promise.all([reports.live, reports.test, upkeep].map((pool) => pool.end()));
      await stores.close();
    },
  };
}

/**
 * Opens what runs the jobs of each pool: the executor of live jobs, the thread of large ones, and test mode. The pool of batches has no
 * jobs of calls.
 */
async function openRunners(
  settings: WorkerSettings,
  { stores, reports, pulling }: Awaited<ReturnType<typeof openWorkerStores>>,
  observers: {
    events: CallEvents;
    onError: StoreErrors;
    tracing: Tracing | null;
    clock: DatabaseClock;
    log: Logger;
  },
) {
  const { largeJobs, startTestProvider: start } = settings;
  const { events, onError, tracing, clock, log } = observers;
  const { database, keys, redis, subscriber } = stores;
  const live = await openLiveJobs(
    settings,
    { ...stores, reports: reports.live },
    { events, tracing, clock, log, ...(largeJobs && { pausingShare: PAUSING_SHARE }) },
  );
  const { executor, executing, fail } = live;
  const largeDeps = { fail, pools: settings.pools, events, onError, clock, log };
  const large = largeJobs ? createLargeJobs({ ...jobSettings(settings), ...largeJobs }, largeDeps) : null;
  const executeLive: Executor['execute'] = (attempt) =>
    large && isLarge(attempt.data) ? large.execute(attempt) : executor.execute(attempt);
  const test = start ? createTestMode({ ...executing, reports: reports.test, database, start }) : null;
  await onControl({ subscriber, log }, keys, (control) => {
    executor.control(control);
    test?.control(control);
  });
  const pools = await Promise.all(
    settings.pools.flatMap((pool) => {
      if (pool === BATCH_POOL) return [];
      const execute = pool === TEST_POOL ? test?.execute : executeLive;
      return execute ? [openPoolWorker({ pool, redis, pulling, keys, execute, clock, log })] : [];
    }),
  );
  return {
    live,
    test,
    pools,
    /** Closes what the pools have used. They must have been closed. */
    async close() {
      await large?.close();
      await test?.close();
    },
  };
}

/** The call events of a worker, with what counts and stores them. @param onEvent see `openWorker`. */
function openSinks(
  deps: {
    database: Database;
    redis: Redis;
    keys: RedisKeys;
    /** The provider of product data. */
    provider: string;
    registry: Registry;
    clock: Clock;
    log: Logger;
  },
  onEvent: CallEventSink,
) {
  const { database, provider, registry, clock, log } = deps;
  const usage = createUsageStatistics(database, clock, log);
  const tokens = createTokenSums(database, clock, log);
  const accounts = createAccountStatistics(database, provider, clock, log);
  const minutes = createStatusMinutes(database, clock, log);
  const failures = createFailureLog(database, clock, log);
  const runTimes = createRunTimes(deps);
  const ofLive = [
    createCallMetrics(registry),
    createJobMetrics(registry),
    usage.onEvent,
    tokens.onEvent,
    minutes.onEvent,
  ];
  return {
    events: createCallEvents(log, [
      ...ofLive.map(ofLiveCalls),
      failures.onEvent,
      accounts.onEvent,
      runTimes.onEvent,
      onEvent,
    ]),
    close: () =>
      Promise.all([usage, tokens, minutes, failures, accounts, runTimes].map((sink) => sink.close())),
  };
}
