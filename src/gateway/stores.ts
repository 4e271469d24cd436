import type { Redis } from 'ioredis';
import { type Database, openDatabase } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import { closeRedis, connectRedis } from '../platform/redis.ts';
import { type RedisKeys, redisKeys } from '../platform/redis-keys.ts';

export interface StoreSettings {
  databaseUrl: string;
  redisUrl: string;
  redisNamespace: string;
}

/** The connections of a gateway. */
export interface Stores {
  keys: RedisKeys;
  database: Database;
  redis: Redis;
  /** A connection in subscriber mode. */
  subscriber: Redis;
  /** For the queues. */
  submitting: Redis;
  close(): Promise<void>;
}

/** @throws when Redis cannot be reached. */
export async function openStores(
  { databaseUrl, redisUrl, redisNamespace }: StoreSettings,
  log: Logger,
): Promise<Stores> {
  const database = openDatabase(databaseUrl, log);
  const redis = await connectRedis(redisUrl, 'serving', log);
  const subscriber = await connectRedis(redisUrl, 'listening', log);
  const submitting = await connectRedis(redisUrl, 'submitting', log);
  return {
    keys: redisKeys(redisNamespace),
    database,
    redis,
    subscriber,
    submitting,
    async close() {
      await closeRedis(redis, submitting, subscriber);
      await database.end();
    },
  };
}
