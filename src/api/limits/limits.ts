import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import { UPLOAD_LIMIT_BYTES } from '../uploads.ts';
import { createFreeRequests, type FreeRequests } from './free-requests.ts';
import { createOpenPages, type OpenPages } from './open-pages.ts';
import {
  createOpenRequests,
  type Occupied,
  type OpenRequestLimits,
  type OpenRequests,
} from './open-requests.ts';
import { createUploadBudget, type UploadBudget } from './upload-budget.ts';

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
  // The timer restarts whenever the client reads some bytes.
  if (kind === 'downloads' && downloadStallMs !== null)
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
