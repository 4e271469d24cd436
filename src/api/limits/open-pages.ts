import type { FastifyInstance } from 'fastify';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../../accounts/networks.ts';
import { SoukError } from '../../platform/errors.ts';

/** Requests are counted in windows of this length, so an address may send those of a whole window at once. */
const WINDOW_SECONDS = 5;

/** Limits the requests of an address for pages that need no session, in this gateway. */
export interface OpenPages {
  /** Counts the requests of a scope. @throws SoukError TOO_MANY_REQUESTS. */
  limit(scope: FastifyInstance): void;
}

/** @param perSecond null: no limit. */
export function createOpenPages(perSecond: number | null): OpenPages {
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
          throw new SoukError('TOO_MANY_REQUESTS', {
            message: `Requests for pages are limited to ${points} in ${WINDOW_SECONDS} seconds per address.`,
            retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
            metadata: { limit: points, seconds: WINDOW_SECONDS },
          });
        }
      });
    },
  };
}
