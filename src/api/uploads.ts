import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { type BatchJob, type BatchQueue, dropUpload, putUpload, type Replies } from '../batches/uploads.ts';
import { boolean } from '../operations/params/scalars.ts';
import { MINUTE_MS } from '../platform/durations.ts';
import { SoukError } from '../platform/errors.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { inMode, JSON_TYPE } from '../results/envelope.ts';
import type { EndpointCall } from './endpoints/endpoint.ts';
import { modeOfReply, setFacts } from './envelope.ts';
import type { UploadPace, UploadTurns } from './limits/upload-limits.ts';

/** Maximum size of a body that a worker parses: 100,000 items of 160 bytes. */
export const UPLOAD_LIMIT_BYTES = 16 * 1024 * 1024;

/** How long a worker may take to process an upload. */
export const REPLY_TIMEOUT_MS = MINUTE_MS;

export const dryRunQuery = z.object({
  dryRun: boolean()
    .default(false)
    .describe('Validate the request and return its price, without creating anything'),
});

interface DocumentDeps {
  uploadPace: UploadPace;
  uploadTurns: UploadTurns;
}

export interface UploadDeps extends DocumentDeps {
  /** A connection of its own, so that commands of calls do not wait behind the pieces of a body. */
  uploading: Redis;
  keys: RedisKeys;
  batchQueue: BatchQueue;
  replies: Replies;
}

type UploadCall = Pick<EndpointCall<string, unknown, unknown>, 'account' | 'request' | 'reply'>;

/** Returns the body of a schedule or a tracker, which the gateway parses. @throws SoukError TOO_MANY_REQUESTS. */
export async function readDocument(
  { uploadPace, uploadTurns }: DocumentDeps,
  { account, request }: Pick<UploadCall, 'account' | 'request'>,
): Promise<string> {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  await uploadTurns.require(account.accountId);
  await uploadTurns.take(account.accountId, body.length);
  await uploadPace.take(body.length);
  return body.toString('utf8');
}

/** Stores the body of a request for a worker, piece by piece. @returns its bytes. @throws SoukError PAYLOAD_TOO_LARGE or VALIDATION_FAILED. */
async function receiveUpload(
  { uploading, keys, uploadPace }: Pick<UploadDeps, 'uploading' | 'keys' | 'uploadPace'>,
  uploadId: string,
  { request }: Pick<UploadCall, 'request'>,
): Promise<number> {
  const body = request.body instanceof Readable ? request.body : Readable.from([]);
  let bytes = 0;
  try {
    await putUpload(
      uploading,
      keys,
      uploadId,
      limited(body, uploadPace, (sum) => {
        bytes = sum;
      }),
    );
    return bytes;
  } catch (error) {
    await dropUpload(uploading, keys, uploadId).catch(() => {});
    throw error;
  }
}

async function* limited(
  body: Readable,
  pace: UploadPace,
  onBytes: (sum: number) => void,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    onBytes(bytes);
    if (bytes > UPLOAD_LIMIT_BYTES)
      throw new SoukError('PAYLOAD_TOO_LARGE', {
        message: `The request body is larger than ${UPLOAD_LIMIT_BYTES} bytes.`,
      });
    await pace.take(chunk.length);
    yield chunk;
  }
}

/** Passes a request and its body to a worker, and sends the worker's reply. */
export async function sendToWorker(
  deps: UploadDeps,
  { account, request, reply }: UploadCall,
  jobOf: (upload: { uploadId: string; accountId: number; keyId: number | null }) => BatchJob,
): Promise<FastifyReply> {
  const { uploading, keys, batchQueue, replies, uploadTurns } = deps;
  const { accountId, keyId } = account;
  const uploadId = uuid();
  await uploadTurns.require(accountId);
  const bytes = await receiveUpload(deps, uploadId, { request });
  const job = jobOf({ uploadId, accountId, keyId });
  const priority = await uploadTurns.take(accountId, bytes);
  const [answer] = await Promise.all([
    replies.wait(uploadId, REPLY_TIMEOUT_MS),
    batchQueue.add(job.kind, job, { jobId: uploadId, priority }),
  ]);
  if (!answer) {
    await dropUpload(uploading, keys, uploadId);
    throw new SoukError('BUSY', {
      message: 'No worker processed the request in time; retry it with an idempotencyKey.',
      retryAfterSeconds: 10,
    });
  }
  if (answer.location !== null) reply.header('location', answer.location);
  if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', answer.retryAfterSeconds);
  setFacts(reply);
  return reply
    .code(answer.status)
    .header('content-type', JSON_TYPE)
    .send(inMode(modeOfReply(reply), answer.body));
}
