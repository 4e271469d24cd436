import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../../accounts/networks.ts';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import { recentlyUsed } from '../../platform/recently-used.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import { atEnd } from '../plugins/requests.ts';
import { UPLOAD_LIMIT_BYTES } from '../uploads.ts';
import { createUploadBudget, type UploadBudget } from './upload-limits.ts';

/** Requests are counted in windows of this length, so an account or address may send those of a whole window at the same time. */
const WINDOW_SECONDS = 5;

/** Bounds memory. A refused account that is forgotten is counted in Redis again. */
const MAX_REFUSED_ACCOUNTS = 10_000;

/**
 * Limits the requests of an account that cost no units, over all gateways: quotes, lists, job status, and calls that were
 * refused or joined. Without Redis each gateway counts for itself.
 */
export interface FreeRequests {
  /** Counts a request, or several. @throws SoukError TOO_MANY_REQUESTS. */
  count(accountId: number, requests?: number): Promise<void>;
  /** Counts a request that turned out to be free when it was answered. */
  countLater(accountId: number): void;
  /** @throws SoukError TOO_MANY_REQUESTS if the account has reached the limit in the present window. */
  refuseExhausted(accountId: number): void;
}

/** @param perSecond null: no limit. */
function createFreeRequests(redis: Redis, keys: RedisKeys, perSecond: number | null): FreeRequests {
  if (perSecond === null) return { count: async () => {}, countLater() {}, refuseExhausted() {} };
  const limits = { points: perSecond * WINDOW_SECONDS, duration: WINDOW_SECONDS };
  const limiter = new RateLimiterRedis({
    ...limits,
    storeClient: redis,
    keyPrefix: keys.freeRequests,
    insuranceLimiter: new RateLimiterMemory(limits),
  });
  /** The end of the window of each account that reached its limit, by performance.now(). */
  const refused = recentlyUsed<number, number>(MAX_REFUSED_ACCOUNTS);

  const refuseExhausted = (accountId: number) => {
    const waitMs = (refused.get(accountId) ?? 0) - performance.now();
    if (waitMs > 0) throw tooMany(FREE, limits.points, waitMs);
  };
  const count = async (accountId: number, requests = 1) => {
    refuseExhausted(accountId);
    try {
      await limiter.consume(accountId, requests);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      refused.set(accountId, performance.now() + refusal.msBeforeNext);
      throw tooMany(FREE, limits.points, refusal.msBeforeNext);
    }
  };
  return { count, refuseExhausted, countLater: (accountId) => void count(accountId).catch(() => {}) };
}

/** @param what is limited, and for whom. */
function tooMany(what: readonly [string, string], limit: number, waitMs: number): SoukError {
  return new SoukError('TOO_MANY_REQUESTS', {
    message: `${what[0]} are limited to ${limit} in ${WINDOW_SECONDS} seconds per ${what[1]}.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    metadata: { limit, seconds: WINDOW_SECONDS },
  });
}

const FREE = ['Requests that cost no units', 'account'] as const;
const PAGES = ['Requests for pages', 'address'] as const;

/** Resources of a process that a request occupies until it is answered. */
type Occupied = 'waiting' | 'streams' | 'uploads' | 'downloads' | 'pages';

/** Requests that an account may have open at the same time in one gateway; null: no limit. */
type OpenRequestLimits = Record<Occupied, number | null>;

const NAMES: Record<Occupied, string> = {
  waiting: 'requests',
  streams: 'event streams',
  uploads: 'uploads',
  downloads: 'downloads',
  pages: 'pages',
};

/** Counts the open requests of each account in this process. */
interface OpenRequests {
  /** Counts a request of an account until it ends. @throws SoukError TOO_MANY_OPEN. */
  open(kind: Occupied, accountId: number, request: FastifyRequest): void;
}

function createOpenRequests(limits: OpenRequestLimits): OpenRequests {
  const counts = Object.fromEntries(Object.keys(NAMES).map((kind) => [kind, new Map<number, number>()]));
  return {
    open(kind, accountId, request) {
      const limit = limits[kind];
      const countBy = counts[kind] as Map<number, number>;
      if (limit === null) return;
      const open = countBy.get(accountId) ?? 0;
      if (open >= limit) {
        throw new SoukError('TOO_MANY_OPEN', {
          message: `This account has ${open} open ${NAMES[kind]}; at most ${limit} are allowed at the same time.`,
          retryAfterSeconds: 1,
          metadata: { open, limit },
        });
      }
      countBy.set(accountId, open + 1);
      atEnd(request, () => {
        const left = (countBy.get(accountId) ?? 1) - 1;
        if (left > 0) countBy.set(accountId, left);
        else countBy.delete(accountId);
      });
    },
  };
}

/** Limits the requests of an address for pages that need no session, in this gateway. */
interface OpenPages {
  /** Counts the requests of a scope. @throws SoukError TOO_MANY_REQUESTS. */
  limit(scope: FastifyInstance): void;
}

/** @param perSecond null: no limit. */
function createOpenPages(perSecond: number | null): OpenPages {
  if (perSecond === null) return { limit() {} };
  const points = perSecond * WINDOW_SECONDS;
  const limiter = new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  return {
    limit(scope) {
      scope.addHook('onRequest', async ({ ip }) => {
        try {
          await limiter.consume(networkOf(ip));
        } catch (refusal) {
          if (!(refusal instanceof RateLimiterRes)) throw refusal;
          throw tooMany(PAGES, points, refusal.msBeforeNext);
        }
      });
    },
  };
}

/** A limited resource, or a function that returns it if it depends on the request. */
export type Occupies = Occupied | ((request: FastifyRequest) => Occupied);

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The limited resource that a request of the route occupies until it is answered. Default: `waiting`. */
    occupies?: Occupies | undefined;
  }
}

/** Limits on what an account may occupy without paying for it; null: no limit. */
export interface RequestLimitSettings extends OpenRequestLimits {
  freePerSecond: number | null;
  uploadBytes: number | null;
  /** Bytes of all uploads that a gateway reads in a second. */
  uploadBytesPerSecond: number | null;
  /** Bytes of uploads that an account may send in a minute. */
  uploadBytesPerMinute: number | null;
  /** A download ends when its client has read nothing for this long. */
  downloadStallMs: number | null;
  /** Unknown keys of an address that are looked up in a minute. */
  unknownKeysPerMinute: number | null;
  /** Requests of an address for pages that need no session. */
  openPagesPerSecond: number | null;
  /** Refusals that a client receives without delay. */
  refusalsPerSecond: number | null;
}

export const NO_LIMITS: RequestLimitSettings = {
  freePerSecond: null,
  waiting: null,
  streams: null,
  uploads: null,
  downloads: null,
  pages: null,
  uploadBytes: null,
  uploadBytesPerSecond: null,
  uploadBytesPerMinute: null,
  downloadStallMs: null,
  unknownKeysPerMinute: null,
  openPagesPerSecond: null,
  refusalsPerSecond: null,
};

export interface RequestLimits {
  free: FreeRequests;
  open: OpenRequests;
  openPages: OpenPages;
  uploadBudget: UploadBudget;
  downloadStallMs: number | null;
}

export function createRequestLimits(
  redis: Redis,
  keys: RedisKeys,
  { freePerSecond, uploadBytes, downloadStallMs, openPagesPerSecond, ...open }: RequestLimitSettings,
): RequestLimits {
  return {
    free: createFreeRequests(redis, keys, freePerSecond),
    open: createOpenRequests(open),
    openPages: createOpenPages(openPagesPerSecond),
    uploadBudget: createUploadBudget(uploadBytes, UPLOAD_LIMIT_BYTES),
    downloadStallMs,
  };
}

/** Counts a request among those of an account that occupy a resource. @throws SoukError TOO_MANY_OPEN. */
export function occupy(
  { open, downloadStallMs }: Pick<RequestLimits, 'open' | 'downloadStallMs'>,
  { kind, accountId }: { kind: Occupied; accountId: number },
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  open.open(kind, accountId, request);
  const isDownload = kind === 'downloads' || request.headers.range !== undefined;
  // The timer restarts whenever the client reads some bytes.
  if (isDownload && downloadStallMs !== null)
    reply.raw.setTimeout(downloadStallMs, () => reply.raw.destroy());
}

/** Limits the requests of a scope whose requests are all free. Its account is known: `requireAccount` comes first. */
export function limitFreeRequests(scope: FastifyInstance, limits: RequestLimits): void {
  scope.addHook('onRequest', (request, reply) => limitFreeRequest(limits, request, reply));
}

/** Limits a free request. @throws SoukError TOO_MANY_REQUESTS or TOO_MANY_OPEN. */
export async function limitFreeRequest(
  limits: RequestLimits,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { accountId } = request;
  if (accountId === null) return;
  const { occupies: declared = 'waiting' } = request.routeOptions.config;
  const kind = typeof declared === 'function' ? declared(request) : declared;
  await limits.free.count(accountId);
  occupy(limits, { kind, accountId }, request, reply);
  if (kind === 'uploads') limits.uploadBudget.reserve(request);
}

/**
 * Limits the requests of a scope whose requests are calls: how many wait at the same time, and how many are refused.
 * `requireKey` comes first.
 */
export function limitCalls(scope: FastifyInstance, { free, open }: RequestLimits): void {
  scope.addHook('onRequest', (request, _reply, done) => {
    try {
      if (request.accountId !== null) {
        free.refuseExhausted(request.accountId);
        open.open('waiting', request.accountId, request);
      }
      done();
    } catch (error) {
      done(error as Error);
    }
  });
  scope.addHook('onError', async ({ accountId }, _reply, error) => {
    if (accountId !== null && isRefusal(error)) free.countLater(accountId);
  });
}

/** Whether the caller caused the error. Failures of the service and of providers do not count as refusals. */
function isRefusal(error: Error): boolean {
  return error instanceof SoukError && ERRORS[error.kind].status < 500;
}
