import type { FastifyRequest } from 'fastify';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { JobView } from '../../../api/job-view.ts';
import type { QuoteView } from '../../../api/quote-view.ts';
import { readAtMost } from '../../../api/self-client.ts';
import { queuedOperation } from '../../../operations/index.ts';
import { ERRORS, SoukError } from '../../../platform/errors.ts';
import { parseJson } from '../../../platform/json.ts';
import { customerOf } from '../../session.ts';
import { type ApiAnswer, callApi, dataOf, envelopeOf, streamApi } from '../customer-api.ts';
import { type TryRequest, tryRequest, withOption } from '../try-request.ts';
import type { View } from './explore-view.tsx';

/** What a page knows about one of its views. */
export type ViewState =
  | {
      kind: 'priced';
      quote: QuoteView;
      failed: JobView | null;
      /** Whether data that the address names has expired. */
      isExpired: boolean;
    }
  | { kind: 'refused'; answer: ApiAnswer }
  | { kind: 'running'; job: JobView }
  /** The job, or its answer, cannot be read at this moment. */
  | { kind: 'unread'; answer: ApiAnswer }
  | { kind: 'done'; job: JobView; data: unknown }
  | { kind: 'tooLarge'; job: JobView };

/** Larger answers are only downloaded. */
const MOST_BYTES = 4 * 1024 * 1024;

/** A call that takes longer is shown as a running job. */
const WAIT_SECONDS = 3;

export function requestOf({ operation: name, parameters }: View): TryRequest {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`no operation ${name}`);
  return tryRequest(operation, parameters);
}

/** The state of a view: of the job that the address names, or its price. */
export async function stateOf(
  request: FastifyRequest,
  view: View,
  jobId: string | undefined,
): Promise<ViewState> {
  const found = jobId ? await jobOf(request, view, jobId) : null;
  if (found && 'envelope' in found) return { kind: 'unread', answer: found };
  const job = found;
  const result = job?.state === 'done' ? await readResult(request, view, job) : null;
  if (result) return result;
  if (job && job.finishedAt === null) return { kind: 'running', job };
  const { method, url, body } = withOption(requestOf(view), 'dryRun=1');
  const answer = await callApi(request, method, url, body);
  if (answer.status >= 400) return { kind: 'refused', answer };
  const isExpired = jobId !== undefined && (job === null || job.state === 'done');
  return { kind: 'priced', quote: dataOf<QuoteView>(answer), failed: job, isExpired };
}

/** The job, or null if it does not exist or is one of another operation; or why it cannot be read now. */
async function jobOf(request: FastifyRequest, view: View, id: string): Promise<JobView | ApiAnswer | null> {
  const answer = await callApi(request, 'GET', `/api/jobs/${encodeURIComponent(id)}`);
  if (answer.status === 429 || answer.status >= 500) return answer;
  if (answer.status >= 400) return null;
  const job = dataOf<JobView>(answer);
  return job.operation === view.operation ? job : null;
}

/** Returns null if the result has expired. */
async function readResult(request: FastifyRequest, view: View, job: JobView): Promise<ViewState | null> {
  const { viewBytes } = request.server;
  const { accountId } = customerOf(request);
  await viewBytes.requireLeft(accountId);
  const answer = await streamApi(request, { method: 'GET', url: `/api/jobs/${job.jobId}/result` });
  const isExpired = answer.status === ERRORS.RESULT_EXPIRED.status;
  if (isExpired || queuedOperation(view.operation)?.respond.type === 'png') {
    answer.body.destroy();
    return isExpired ? null : { kind: 'done', job, data: null };
  }
  const { bytes, isWhole } = await readAtMost(answer, MOST_BYTES);
  if (!isWhole) return { kind: 'tooLarge', job };
  await viewBytes.take(accountId, bytes.length);
  const { status } = answer;
  // The answer was lost and is being made again.
  if (status === 202) return { kind: 'running', job };
  const envelope = parseJson(bytes.toString()) as ApiAnswer['envelope'];
  return status >= 400
    ? { kind: 'unread', answer: { status, envelope } }
    : { kind: 'done', job, data: envelope.data };
}

/** Makes the call of a view, unless it costs more than `maxUnits`. @returns the job with its answer or its error, or the refusal of a call without a job. */
export async function makeCall(
  request: FastifyRequest,
  view: View,
  options: { waitSeconds?: number; maxUnits?: number } = {},
): Promise<{ jobId: string } | { answer: ApiAnswer }> {
  const { waitSeconds = WAIT_SECONDS, maxUnits } = options;
  const call = requestOf(view);
  const limited = maxUnits === undefined ? call : withOption(call, `maxUnits=${maxUnits}`);
  const answer = await streamApi(request, limited, { prefer: `wait=${waitSeconds}` });
  const jobId = answer.header('x-job-id');
  if (jobId === undefined) return { answer: { status: answer.status, envelope: await envelopeOf(answer) } };
  answer.body.destroy();
  return { jobId };
}

declare module 'fastify' {
  interface FastifyInstance {
    viewBytes: ReturnType<typeof createViewBytes>;
  }
}

/** KiB of answers that the pages show an account in a minute. An answer is parsed for each page, which takes about 10 ms a MiB. */
const KIB_PER_MINUTE = 32 * 1024;

/** Limits how much of its answers the pages of this gateway show an account. */
export function createViewBytes() {
  const limiter = new RateLimiterMemory({ points: KIB_PER_MINUTE, duration: 60 });
  return {
    /** @throws SoukError TOO_MANY_REQUESTS if the account has reached the limit. */
    async requireLeft(accountId: number): Promise<void> {
      const counted = await limiter.get(accountId);
      if (counted && counted.consumedPoints > KIB_PER_MINUTE) throw tooMany(counted);
    },
    /** Counts the bytes of an answer before it is parsed. @throws SoukError TOO_MANY_REQUESTS. */
    async take(accountId: number, bytes: number): Promise<void> {
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
