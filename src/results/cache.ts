import type { Logger } from '../platform/log.ts';
import { outageOf } from '../platform/outage.ts';
import { connectRedis, type Redis } from '../platform/redis.ts';
import type { CacheErrorSink } from '../platform/telemetry/cache-failures.ts';

/** The Redis of what may be lost at any time: shared answers and sources, with the flights that fetch them. */
export interface Cache {
  redis: Redis;
  /** Whether it is a Redis of its own: the setting CACHE_REDIS_URL. */
  isOwn: boolean;
  /**
   * Runs a command of the cache. If it fails on a Redis of its own, returns `otherwise`, so that the data is fetched, or not
   * kept. A failure on the common Redis is thrown, like that of any other command.
   */
  attempt<Value>(command: () => Promise<Value>, otherwise: Value): Promise<Value>;
}

/** Keeps cached data on the Redis of everything else. */
export function cacheOn(redis: Redis): Cache {
  return { redis, isOwn: false, attempt: (command) => command() };
}

/** A fault of the cache is logged at most this often. */
const LOG_EVERY_MS = 60_000;

/**
 * Connects to a Redis that holds only cached data, if there is one. It may be away, now and later.
 * @param common the Redis of everything else, which holds cached data otherwise.
 */
export async function openCache(
  url: string | undefined,
  common: Redis,
  log: Logger,
  { answerLimitMs, onError }: { answerLimitMs?: number | undefined; onError: CacheErrorSink },
): Promise<Cache> {
  if (url === undefined) return cacheOn(common);
  const redis = await connectRedis(url, 'serving', log, {
    ...(answerLimitMs !== undefined && { answerLimitMs }),
    isOptional: true,
  });
  let loggedAt = Number.NEGATIVE_INFINITY;
  return {
    redis,
    isOwn: true,
    async attempt(command, otherwise) {
      try {
        return await command();
      } catch (error) {
        onError(error);
        // Outages are logged by the connection.
        if (outageOf(error) === null && performance.now() - loggedAt > LOG_EVERY_MS) {
          loggedAt = performance.now();
          log.warn({ err: error }, 'a command of the cache failed');
        }
        return otherwise;
      }
    },
  };
}
