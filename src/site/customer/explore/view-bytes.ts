import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { SoukError } from '../../../platform/errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    viewBytes: ViewBytes;
  }
}

/** KiB of answers that the pages show an account in a minute. An answer is parsed for each page, which takes about 10 ms a MiB. */
const KIB_PER_MINUTE = 32 * 1024;

/** Limits how much of its answers the pages of this gateway show an account. */
export interface ViewBytes {
  /** @throws SoukError TOO_MANY_REQUESTS if the account has reached the limit. */
  requireLeft(accountId: number): Promise<void>;
  /** Counts the bytes of an answer before it is parsed. @throws SoukError TOO_MANY_REQUESTS. */
  take(accountId: number, bytes: number): Promise<void>;
}

export function createViewBytes(): ViewBytes {
  const limiter = new RateLimiterMemory({ points: KIB_PER_MINUTE, duration: 60 });
  return {
    async requireLeft(accountId) {
      const counted = await limiter.get(accountId);
      if (counted && counted.consumedPoints > KIB_PER_MINUTE) throw tooMany(counted);
    },
    async take(accountId, bytes) {
      try {
        await limiter.consume(accountId, Math.ceil(bytes / 1024));
      } catch (refusal) {
        throw refusal instanceof RateLimiterRes ? tooMany(refusal) : refusal;
      }
    },
  };
}

function tooMany({ msBeforeNext }: RateLimiterRes): SoukError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new SoukError('TOO_MANY_REQUESTS', {
    message: `Pages show at most ${KIB_PER_MINUTE / 1024} MiB of answers in a minute. Try again in ${seconds} s, or download the answer.`,
    retryAfterSeconds: seconds,
  });
}
