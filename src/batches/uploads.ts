import type { Queue } from 'bullmq';
import { z } from 'zod';
import { openQueue } from '../../jobs/queues.ts';
import { BATCH_POOL } from '../operations/pools.ts';
import type { Clock } from '../platform/clock.ts';
import { ERRORS, SoukError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import type { Stores } from '../platform/stores.ts';
import { errorBody } from '../results/envelope.ts';

/** The key of the request; null: a key of the pages. */
const keyId = z.int().positive().nullable();

/** A job of the pool `batch`. */
const batchJobSchema = z.discriminatedUnion('kind', [
  z.object({
    /** Reads an upload and creates a batch from it. */
    kind: z.literal('batch'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    keyId,
    upload: z.enum(['json', 'ndjson']),
    query: z.record(z.string(), z.unknown()),
    dryRun: z.boolean(),
  }),
  z.object({
    /** Runs a schedule on demand; the request waits for the batch. */
    kind: z.literal('run'),
    uploadId: z.uuid(),
    accountId: z.int().positive(),
    keyId,
    scheduleId: z.uuid(),
    /** What the request names. */
    of: z.enum(['schedule', 'tracker']),
  }),
]);

export type BatchJob = z.output<typeof batchJobSchema>;

const KINDS: ReadonlySet<unknown> = new Set(batchJobSchema.options.map(({ shape }) => shape.kind.value));

/** @returns null for a job of a kind that this version does not know. @throws ZodError. */
export function readBatchJob(data: { kind: unknown }): BatchJob | null {
  return KINDS.has(data.kind) ? batchJobSchema.parse(data) : null;
}

export type BatchQueue = Queue<BatchJob>;

export function openBatchQueue(redis: Redis, keys: RedisKeys, log: Logger): BatchQueue {
  return openQueue<BatchJob>(redis, keys, log, BATCH_POOL, 3);
}

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
async function getUpload(redis: Redis, keys: RedisKeys, uploadId: string): Promise<string | null> {
  const pieces = await redis.lrangeBuffer(keys.upload(uploadId), 0, -1);
  return pieces.length === 0 ? null : Buffer.concat(pieces).toString('utf8');
}

export async function dropUpload(redis: Redis, keys: RedisKeys, uploadId: string): Promise<void> {
  await redis.del(keys.upload(uploadId));
}

/** The request of an upload has timed out, and its caller has received 503. */
class TimedOut extends Error {}

/** Checks that the request of an upload still waits, before a transaction of `answerUpload` commits. @throws TimedOut. */
export async function requireWaiting(redis: Redis, keys: RedisKeys, uploadId: string): Promise<void> {
  if ((await redis.exists(keys.upload(uploadId))) === 0) throw new TimedOut();
}

async function sendReply(redis: Redis, keys: RedisKeys, uploadId: string, reply: Reply): Promise<void> {
  const { body, ...head } = reply;
  await redis.set(keys.reply(uploadId), `${JSON.stringify(head)}\n${body}`, 'PX', LIFETIME_MS);
  await redis.publish(keys.repliesChannel, uploadId);
}

export type Replies = Awaited<ReturnType<typeof openReplies>>;

/** The requests of a gateway process that wait for replies to their uploads. @param deps.subscriber a Redis connection for subscriptions only. */
export async function openReplies(deps: { redis: Redis; subscriber: Redis; keys: RedisKeys; clock: Clock }) {
  const { redis, subscriber, keys, clock } = deps;
  const waiting = new Map<string, () => void>();
  subscriber.on('message', (channel, uploadId) => {
    if (channel === keys.repliesChannel) waiting.get(uploadId)?.();
  });
  await subscriber.subscribe(keys.repliesChannel);
  let closed = false;

  return {
    /** Returns null if no reply comes in time, or this process stops. */
    async wait(uploadId: string, timeoutMs: number): Promise<Reply | null> {
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
    /** Ends all waits. */
    close(): void {
      closed = true;
      for (const end of waiting.values()) end();
    },
  };
}

type ReplyDeps = Pick<Stores, 'redis' | 'keys' | 'log'>;

/**
 * Replies to an upload with the result of `make`, or with the refusal it throws.
 * @throws errors that are not the customer's fault; then the queue tries again.
 */
export async function answerUpload(
  { redis, keys, log }: ReplyDeps,
  uploadId: string,
  make: (body: string) => Promise<Reply>,
): Promise<void> {
  const body = await getUpload(redis, keys, uploadId);
  // The request has timed out, or already has its reply.
  if (body === null) return;
  const reply = await make(body).catch((error: unknown) => {
    if (error instanceof TimedOut) return null;
    if (error instanceof SoukError) return refusal(error);
    log.error({ err: error, uploadId }, 'upload failed');
    throw error;
  });
  if (reply === null) return;
  await sendReply(redis, keys, uploadId, reply);
  await dropUpload(redis, keys, uploadId);
}

/** Replies INTERNAL to an upload after its last attempt has failed. */
export async function answerFailure({ redis, keys }: ReplyDeps, uploadId: string): Promise<void> {
  await sendReply(redis, keys, uploadId, refusal(new SoukError('INTERNAL')));
  await dropUpload(redis, keys, uploadId);
}

function refusal(error: SoukError): Reply {
  const { kind, retryAfterSeconds } = error;
  return { status: ERRORS[kind].status, location: null, retryAfterSeconds, body: errorBody(error) };
}
