import { Redis } from 'ioredis';
import type { Logger } from './log.ts';

/** What a connection is for decides what happens while Redis is away. */
export type RedisPurpose =
  /** A request waits: fail at once, so that it can be refused. */
  | 'serving'
  /** Work waits: hold commands back until Redis returns. */
  | 'working'
  /** Subscribed to channels; subscribes again by itself. */
  | 'listening';

/** A connection that logs its troubles and comes back by itself. Rejects when Redis cannot be reached now. */
export async function connectRedis(
  url: string,
  purpose: RedisPurpose,
  log: Logger,
  onError: (error: Error) => void = () => {},
): Promise<Redis> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectionName: `souk-${purpose}`,
    connectTimeout: 5_000,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    ...(purpose === 'serving'
      ? // Commands of the same moment share a write; that is most of what a command costs a gateway.
        { enableOfflineQueue: false, maxRetriesPerRequest: 1, enableAutoPipelining: true }
      : { maxRetriesPerRequest: null }),
  });
  redis.on('error', (error) => {
    log.warn({ err: error, purpose }, 'Redis connection');
    onError(error);
  });
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  return redis;
}

/** Closes connections, sending what is still queued where that is possible. */
export async function closeRedis(...connections: readonly Redis[]): Promise<void> {
  await Promise.all(
    connections.map(async (redis) => {
      if (redis.status === 'ready') await redis.quit().catch(() => {});
      redis.disconnect();
    }),
  );
}
