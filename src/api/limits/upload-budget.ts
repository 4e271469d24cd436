import type { FastifyRequest } from 'fastify';
import { SoukError } from '../../platform/errors.ts';
import { atEnd } from '../plugins/request-end.ts';

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
