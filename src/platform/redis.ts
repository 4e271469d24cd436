import { Redis } from 'ioredis';
import type { Logger } from './log.ts';
import { STORE_ANSWER_LIMIT_MS } from './outage.ts';
import { reportingErrors } from './reporting-errors.ts';

/** The purpose of a connection. It determines the behaviour while Redis is away, and how commands are sent. */
export type RedisPurpose =
  /** For requests: commands fail at once, so that the request can be refused. */
  | 'serving'
  /** The same for the queues of a gateway. */
  | 'submitting'
  /** For background work: commands wait until Redis returns. */
  | 'working'
  /** The same for the queues of a worker. */
  | 'pulling'
  /** For subscriptions, which are renewed after an outage. */
  | 'listening';

/**
 * Connections that pipeline commands: commands of one event-loop turn share a write, which is most of a command's cost.
 * Queues are excluded, because a pipeline sends every script of its connection again, and BullMQ has fifty.
 */
const PIPELINED: ReadonlySet<RedisPurpose> = new Set(['serving', 'working']);

const FAILING_AT_ONCE: ReadonlySet<RedisPurpose> = new Set(['serving', 'submitting']);

export interface RedisOptions {
  /** Receives the errors of the connection. */
  onError?: (error: Error) => void;
  /** Receives the errors of all commands. */
  onCommandError?: (error: unknown) => void;
  /**
   * On connections for requests, a command without an answer fails after this time, and a connection without an answer is
   * replaced: until Redis answers again, further commands fail at once.
   */
  answerLimitMs?: number;
}

/** Connects to Redis, logs connection errors and reconnects. Rejects when Redis is unreachable at the start. */
export async function connectRedis(
  url: string,
  purpose: RedisPurpose,
  log: Logger,
  { onError = () => {}, onCommandError, answerLimitMs = STORE_ANSWER_LIMIT_MS }: RedisOptions = {},
): Promise<Redis> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectionName: `souk-${purpose}`,
    connectTimeout: 5_000,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    enableAutoPipelining: PIPELINED.has(purpose),
    ...(FAILING_AT_ONCE.has(purpose)
      ? {
          enableOfflineQueue: false,
          maxRetriesPerRequest: 1,
          socketTimeout: answerLimitMs,
        }
      : { maxRetriesPerRequest: null }),
  });
  redis.on('error', (error) => {
    log.warn({ err: error, purpose }, 'Redis connection error');
    onError(error);
  });
  if (onCommandError) redis.sendCommand = reportingErrors(redis.sendCommand.bind(redis), onCommandError);
  try {
    await redis.connect();
    if (FAILING_AT_ONCE.has(purpose)) redis.options.commandTimeout = answerLimitMs;
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  return redis;
}

/** Closes connections, after sending queued commands if Redis is reachable. */
export async function closeRedis(...connections: readonly Redis[]): Promise<void> {
  await Promise.all(
    connections.map(async (redis) => {
      if (redis.status === 'ready') await redis.quit().catch(() => {});
      redis.disconnect();
    }),
  );
}
