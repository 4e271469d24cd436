import type { FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuid } from 'uuid';
import type { BatchJob } from '../../jobs/batch-queue.ts';
import { dropUpload, putUpload } from '../../jobs/replies.ts';
import { SoukError } from '../platform/errors.ts';
import { JSON_TYPE } from '../results/envelope.ts';
import { setFacts } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { keyHashOf } from './request-input.ts';

/** The largest body that a worker reads: a hundred thousand items of 160 bytes. */
export const UPLOAD_LIMIT_BYTES = 16 * 1024 * 1024;

/** How long a worker may take to read one. */
const PATIENCE_MS = 60_000;

/** Routes whose body a worker reads: the key is judged before the body is taken in. */
export function uploadRoute(gateway: Gateway) {
  return {
    bodyLimit: UPLOAD_LIMIT_BYTES,
    config: { unparsedBody: true },
    onRequest: async (request: FastifyRequest) => {
      await gateway.authentication.accountOf(keyHashOf(gateway, request));
    },
  };
}

/** Has a worker read a request's body, and sends what it says. */
export async function handOver(
  gateway: Gateway,
  request: FastifyRequest,
  reply: FastifyReply,
  jobOf: (upload: { uploadId: string; accountId: number }) => BatchJob,
): Promise<FastifyReply> {
  const { redis, keys, batchQueue, replies, authentication, clock } = gateway;
  const accountId = await authentication.accountOf(keyHashOf(gateway, request));
  const uploadId = uuid();
  await putUpload(redis, keys, uploadId, typeof request.body === 'string' ? request.body : '');
  const job = jobOf({ uploadId, accountId });
  const [answer] = await Promise.all([
    replies.wait(uploadId, PATIENCE_MS),
    batchQueue.add(job.kind, job, { jobId: uploadId }),
  ]);
  if (!answer) {
    await dropUpload(redis, keys, uploadId);
    throw new SoukError('BUSY', {
      message: 'No worker has read the request in time. Repeat it with an idempotencyKey.',
      retryAfterSeconds: 10,
    });
  }
  if (answer.location !== null) reply.header('location', answer.location);
  setFacts(reply, { unitsConsumed: 0 }, clock.now());
  return reply.code(answer.status).header('content-type', JSON_TYPE).send(answer.body);
}
