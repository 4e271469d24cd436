import { Redis } from 'ioredis';
import type { Logger } from './log.ts';

/** What a connection is for decides what happens while Redis is away, and how commands are sent. */
export type RedisPurpose =
  /** A request waits: fail at once, so that it can be refused. */
  | 'serving'
  /** The same, for the queues of a gateway. */
  | 'submitting'
  /** Work waits: hold commands back until Redis returns. */
  | 'working'
  /** The same, for the queues of a worker. */
  | 'pulling'
  /** Subscribed to channels; subscribes again by itself. */
  | 'listening';

/**
 * Commands of the same moment share one write, which is most of what a command costs us. Not on connections of the
 * queues: a pipeline defines every script of its connection anew, and BullMQ has fifty.
 */
const PIPELINED: ReadonlySet<RedisPurpose> = new Set(['serving', 'working']);

const FAILING_AT_ONCE: ReadonlySet<RedisPurpose> = new Set(['serving', 'submitting']);

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
    enableAutoPipelining: PIPELINED.has(purpose),
    ...(FAILING_AT_ONCE.has(purpose)
      ? { enableOfflineQueue: false, maxRetriesPerRequest: 1 }
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
