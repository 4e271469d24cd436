import type { FastifyRequest } from 'fastify';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { type Clock, sleep } from '../../platform/clock.ts';
import { SoukError } from '../../platform/errors.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import { atEnd } from '../plugins/requests.ts';

/** Bytes of uploads that this process accepts at the same time. */
export interface UploadBudget {
  /** Reserves the bytes of a body, before it is read, until its request ends. @throws SoukError TOO_MANY_OPEN. */
  reserve(request: FastifyRequest): void;
}

/** @param totalBytes null: no limit. @param largestBytes what a body without Content-Length may have. */
export function createUploadBudget(totalBytes: number | null, largestBytes: number): UploadBudget {
  let reservedBytes = 0;
  return {
    reserve(request) {
      const bytes = Math.min(Number(request.headers['content-length'] ?? largestBytes), largestBytes);
      if (totalBytes !== null && reservedBytes + bytes > totalBytes) {
        throw new SoukError('TOO_MANY_OPEN', {
          message: `The gateway is receiving ${reservedBytes} bytes of uploads and accepts at most ${totalBytes} at the same time.`,
          retryAfterSeconds: 5,
        });
      }
      reservedBytes += bytes;
      atEnd(request, () => {
        reservedBytes -= bytes;
      });
    },
  };
}

/** Limits how fast this process receives uploads, because receiving takes processor time and Redis time that calls need. */
export interface UploadPace {
  /** Resolves when the next bytes may be read. */
  take(bytes: number): Promise<void>;
}

/** Uploads do not wait until all uploads together are this much ahead of their rate, so small uploads are never delayed. */
const AHEAD_MS = 100;

/** @param bytesPerSecond null: no limit. */
export function createUploadPace(clock: Clock, bytesPerSecond: number | null): UploadPace {
  if (bytesPerSecond === null) return { take: async () => {} };
  let paidUntil = 0;
  return {
    async take(bytes) {
      const now = clock.now();
      paidUntil = Math.max(now, paidUntil) + (bytes * 1_000) / bytesPerSecond;
      const waitMs = paidUntil - now - AHEAD_MS;
      if (waitMs > 0) await sleep(clock, waitMs, undefined, 'upload pace');
    },
  };
}

/**
 * Limits the bytes of uploads of an account, over all gateways, and orders uploads between accounts: those of the account
 * that has sent the fewest bytes are read first. Without Redis each gateway counts for itself.
 */
export interface UploadTurns {
  /** @throws SoukError TOO_MANY_REQUESTS if the account has sent as many bytes as it may in a minute. */
  require(accountId: number): Promise<void>;
  /** Counts an upload. @returns its priority in the queue: 0 goes first, higher numbers later. */
  take(accountId: number, bytes: number): Promise<number>;
}

const WINDOW_SECONDS = 60;

/** Accounts with fewer bytes in a minute have no order between them. */
const BYTES_OF_A_PRIORITY = 65_536;

/** The largest one of BullMQ. */
const LAST_PRIORITY = 2_097_152;

/** @param bytesPerMinute null: no limit, and uploads are read in the order in which they arrive. */
export function createUploadTurns(redis: Redis, keys: RedisKeys, bytesPerMinute: number | null): UploadTurns {
  if (bytesPerMinute === null) return { require: async () => {}, take: async () => 0 };
  const limits = { points: bytesPerMinute, duration: WINDOW_SECONDS };
  const limiter = new RateLimiterRedis({
    ...limits,
    storeClient: redis,
    keyPrefix: keys.uploadBytes,
    insuranceLimiter: new RateLimiterMemory(limits),
  });
  return {
    async require(accountId) {
      const sent = await limiter.get(accountId);
      if (!sent || sent.consumedPoints < bytesPerMinute) return;
      throw new SoukError('TOO_MANY_REQUESTS', {
        message: `Uploads are limited to ${bytesPerMinute} bytes in ${WINDOW_SECONDS} seconds per account.`,
        retryAfterSeconds: Math.max(1, Math.ceil(sent.msBeforeNext / 1000)),
        metadata: { limit: bytesPerMinute, seconds: WINDOW_SECONDS },
      });
    },
    async take(accountId, bytes) {
      const { consumedPoints } = await limiter.consume(accountId, bytes).catch((beyond: unknown) => {
        // The upload was let in, so the next one is refused.
        if (beyond instanceof RateLimiterRes) return beyond;
        throw beyond;
      });
      return Math.min(Math.floor(consumedPoints / BYTES_OF_A_PRIORITY), LAST_PRIORITY);
    },
  };
}
