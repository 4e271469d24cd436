import { randomUUID } from 'node:crypto';
import type { Logger } from '../src/platform/log.ts';
import { listen } from '../src/platform/messages.ts';
import { hasShardedChannels, type Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { type CompletionMessage, completionSchema } from './completion-message.ts';

/**
 * Where one process, a gateway or a worker of the pool `batch`, receives the ends of calls: on a channel of its own, and on the
 * channel of all processes, for calls whose job names no process.
 */
export interface CompletionChannel {
  /** Names the process in the payloads of the jobs that it submits. */
  id: string;
  /**
   * Makes this process receive the end of a call that another process may have submitted. An end before that is in PostgreSQL.
   * A failure is only logged, because waiting calls are looked up.
   */
  register(callId: string): Promise<void>;
  /** Adds a listener for the ends of the calls of all accounts. @returns a function that removes it. */
  onEnded(listener: (message: CompletionMessage) => void): () => void;
}

/** How long a process is registered for a call: longer than a request waits for it. */
const REGISTERED_MS = 15 * 60_000;

/** Begins the id of a process whose channel is sharded, so that publishers need not know which channels its Redis has. */
const SHARDED = 'sharded-';

/** Receives each completion message that a process has decoded. */
export type ReceivedSink = (channel: 'own' | 'common') => void;

/** @param subscriber a Redis connection for subscriptions only. */
export async function openCompletionChannel(deps: {
  redis: Redis;
  subscriber: Redis;
  keys: RedisKeys;
  log: Logger;
  onReceived: ReceivedSink;
}): Promise<CompletionChannel> {
  const { redis, keys, log, onReceived } = deps;
  const isSharded = await hasShardedChannels(redis);
  const id = `${isSharded ? SHARDED : ''}${randomUUID()}`;
  const listeners = new Set<(message: CompletionMessage) => void>();
  const receiveFrom = (channel: 'own' | 'common') => (message: CompletionMessage) => {
    onReceived(channel);
    for (const listener of listeners) listener(message);
  };
  await listen(deps, keys.completionsChannel(id), completionSchema, receiveFrom('own'), isSharded);
  await listen(deps, keys.jobsChannel, completionSchema, receiveFrom('common'));
  return {
    id,
    async register(callId) {
      const key = keys.waiting(callId);
      try {
        await redis.multi().sadd(key, id).pexpire(key, REGISTERED_MS).exec();
      } catch (error) {
        log.warn({ err: error, callId }, 'failed to register for the end of a call');
      }
    },
    onEnded(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/**
 * Publishes the end of a call to the processes that wait for it.
 * @param channelId of the process that submitted its job. Without it, as in a job of an earlier release, all processes receive
 *   the message.
 */
export async function publishCompletion(
  redis: Redis,
  keys: RedisKeys,
  message: CompletionMessage,
  channelId: string | undefined,
): Promise<void> {
  const text = JSON.stringify(message);
  if (channelId === undefined) {
    await redis.publish(keys.jobsChannel, text);
    return;
  }
  const waiting = keys.waiting(message.callId);
  // The process that submitted the job does not wait for the look-up of the others.
  const [registered] = await Promise.all([redis.smembers(waiting), publishTo(redis, keys, channelId, text)]);
  if (registered.length === 0) return;
  const others = registered.filter((id) => id !== channelId);
  await Promise.all([
    ...others.map((id) => publishTo(redis, keys, id, text)),
    // A process that registers from now on finds the end in PostgreSQL.
    redis.del(waiting),
  ]);
}

function publishTo(redis: Redis, keys: RedisKeys, id: string, text: string): Promise<unknown> {
  const channel = keys.completionsChannel(id);
  return id.startsWith(SHARDED) ? redis.spublish(channel, text) : redis.publish(channel, text);
}
