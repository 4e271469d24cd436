import type { Reports } from '../../jobs/mode.ts';
import { TEST_REPORTS } from '../brand-analytics/test-reports.ts';
import { watchForHangs } from '../platform/db/hang-watch.ts';
import { type Database, openDatabase, STATEMENT_LIMITS, type StatementLimits } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import { STORE_ANSWER_LIMIT_MS } from '../platform/outage.ts';
import type { Redis } from '../platform/redis.ts';
import { closeRedis, connectRedis } from '../platform/redis.ts';
import { type RedisKeys, redisKeys } from '../platform/redis-keys.ts';
import type { CacheErrorSink } from '../platform/telemetry/cache-failures.ts';
import type { createTimeLimitMetrics } from '../platform/telemetry/time-limits.ts';
import { type Cache, openCache } from '../results/cache.ts';

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
  /** For the check of readiness. */
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
  const open = (purpose: keyof typeof CONNECTIONS, limits: StatementLimits, session = {}) =>
    openDatabase(databaseUrl, log, {
      ...{ max: Math.min(CONNECTIONS[purpose], maxConnections), connectMs: answerLimitMs, limits, session },
      onError: onError.postgresql,
    });
  const databases = {
    money: open('money', STATEMENT_LIMITS.money),
    database: open('database', STATEMENT_LIMITS.requests),
    pages: open('pages', STATEMENT_LIMITS.requests),
    readiness: open('readiness', STATEMENT_LIMITS.money),
  };
  const test = open('testReports', STATEMENT_LIMITS.requests, TEST_REPORTS);
  const pools = [...Object.values(databases), test];
  const watch = watchForHangs(databaseUrl, pools, answerLimitMs, log);
  const serving = { answerLimitMs, onCommandError: onError.redis };
  const redis = await connectRedis(redisUrl, 'serving', log, serving);
  const subscriber = await connectRedis(redisUrl, 'listening', log);
  const submitting = await connectRedis(redisUrl, 'submitting', log, serving);
  const uploading = await connectRedis(redisUrl, 'submitting', log, serving);
  const cache = await openCache(cacheRedisUrl, redis, log, { answerLimitMs, onError: onError.cache });
  return {
    keys: redisKeys(redisNamespace),
    ...databases,
    reports: { live: databases.database, test },
    redis,
    cache,
    subscriber,
    submitting,
    uploading,
    async close() {
      if (cache.isOwn) await closeRedis(cache.redis);
      await closeRedis(redis, submitting, uploading, subscriber);
      await Promise.all(pools.map((pool) => pool.end()));
      await watch.close();
    },
  };
}
