import type { FastifyReply, FastifyRequest } from 'fastify';
import { SoukError } from '../../platform/errors.ts';

/** Bytes of uploads that this process accepts at the same time. */
export interface UploadBudget {
  /** Reserves the bytes of a body, before it is read, until its reply is closed. @throws SoukError TOO_MANY_OPEN. */
  reserve(request: FastifyRequest, reply: FastifyReply): void;
}

/** @param totalBytes null: no limit. @param largestBytes what a body without Content-Length may have. */
export function createUploadBudget(totalBytes: number | null, largestBytes: number): UploadBudget {
  let reservedBytes = 0;
  return {
    reserve({ headers }, reply) {
      const bytes = Math.min(Number(headers['content-length'] ?? largestBytes), largestBytes);
      if (totalBytes !== null && reservedBytes + bytes > totalBytes) {
        throw new SoukError('TOO_MANY_OPEN', {
          message: `The gateway is receiving ${reservedBytes} bytes of uploads and accepts at most ${totalBytes} at the same time.`,
          retryAfterSeconds: 5,
        });
      }
      reservedBytes += bytes;
      reply.raw.once('close', () => {
        reservedBytes -= bytes;
      });
    },
  };
}
