import type { Clock } from '../src/platform/clock.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';

/** A worker's reply to an upload; the gateway sends the body as it is. */
export interface Reply {
  status: number;
  location: string | null;
  retryAfterSeconds?: number | undefined;
  body: string;
}

/** How long uploads and replies are kept for a slow process. */
const LIFETIME_MS = 600_000;

/** The size of a piece of an upload. Pieces are sent one by one, so that none of them blocks Redis for long. */
const PIECE_BYTES = 256 * 1024;

/** Stores an upload as it arrives, so that the gateway holds one piece of it at a time. */
export async function putUpload(
  redis: Redis,
  keys: RedisKeys,
  uploadId: string,
  body: AsyncIterable<Buffer>,
): Promise<void> {
  const key = keys.upload(uploadId);
  // In one transaction, so that no piece without an expiry is left when this process dies.
  const put = (piece: Buffer) => redis.multi().rpush(key, piece).pexpire(key, LIFETIME_MS).exec();
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    pending.push(chunk);
    pendingBytes += chunk.length;
    if (pendingBytes < PIECE_BYTES) continue;
    await put(Buffer.concat(pending));
    [pending, pendingBytes] = [[], 0];
  }
  // An empty piece is stored even for an empty body, because the list has to exist as long as the request waits.
  await put(Buffer.concat(pending));
}

/** @returns null if the request has timed out. */
export async function getUpload(redis: Redis, keys: RedisKeys, uploadId: string): Promise<string | null> {
  const pieces = await redis.lrangeBuffer(keys.upload(uploadId), 0, -1);
  return pieces.length === 0 ? null : Buffer.concat(pieces).toString('utf8');
}

export async function dropUpload(redis: Redis, keys: RedisKeys, uploadId: string): Promise<void> {
  await redis.del(keys.upload(uploadId));
}

export async function sendReply(
  redis: Redis,
  keys: RedisKeys,
  uploadId: string,
  reply: Reply,
): Promise<void> {
  const { body, ...head } = reply;
  await redis.set(keys.reply(uploadId), `${JSON.stringify(head)}\n${body}`, 'PX', LIFETIME_MS);
  await redis.publish(keys.repliesChannel, uploadId);
}

/** The requests of a gateway process that wait for replies to their uploads. */
export interface Replies {
  /** Returns null if no reply comes in time, or this process stops. */
  wait(uploadId: string, timeoutMs: number): Promise<Reply | null>;
  /** Ends all waits. */
  close(): void;
}

/** @param subscriber a Redis connection for subscriptions only. */
export async function openReplies(deps: {
  redis: Redis;
  subscriber: Redis;
  keys: RedisKeys;
  clock: Clock;
}): Promise<Replies> {
  const { redis, subscriber, keys, clock } = deps;
  const waiting = new Map<string, () => void>();
  subscriber.on('message', (channel, uploadId) => {
    if (channel === keys.repliesChannel) waiting.get(uploadId)?.();
  });
  await subscriber.subscribe(keys.repliesChannel);
  let closed = false;

  return {
    async wait(uploadId, timeoutMs) {
      await new Promise<void>((resolve) => {
        if (closed) {
          resolve();
          return;
        }
        const cancel = clock.after(timeoutMs, resolve);
        waiting.set(uploadId, () => {
          cancel();
          resolve();
        });
      });
      waiting.delete(uploadId);
      // The message may be lost, but the reply is stored. It may be large, so it is read only once.
      const stored = await redis.getdel(keys.reply(uploadId));
      if (stored === null) return null;
      const end = stored.indexOf('\n');
      return { ...(JSON.parse(stored.slice(0, end)) as Omit<Reply, 'body'>), body: stored.slice(end + 1) };
    },
    close() {
      closed = true;
      for (const end of waiting.values()) end();
    },
  };
}
