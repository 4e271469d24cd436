import type { FastifyReply } from 'fastify';
import type { MinuteRate } from '../billing/admission.ts';
import { ERRORS, type SoukError } from '../platform/errors.ts';
import { errorBody, JSON_TYPE, okBody } from '../results/envelope.ts';

/** What the headers of an answer say about the call. */
export interface CallFacts {
  unitsConsumed: number;
  /** Whether the answer came without asking upstream. */
  cache?: 'HIT' | 'MISS';
  jobId?: string;
  rate?: MinuteRate;
  deduplicated?: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request arrived, by performance.now(). */
    startedAt: number;
  }
}

/** Sets the headers every answer carries. */
export function setFacts(reply: FastifyReply, facts: CallFacts, now: number): void {
  reply.header('x-response-time', `${Math.round(performance.now() - reply.request.startedAt)}ms`);
  reply.header('x-units-consumed', facts.unitsConsumed);
  reply.header('x-request-id', reply.request.id);
  if (facts.cache) reply.header('x-cache', facts.cache);
  if (facts.jobId) reply.header('x-job-id', facts.jobId);
  if (facts.deduplicated) reply.header('x-deduplicated', 'true');
  if (facts.rate) {
    const { limit, remaining, resetAt } = facts.rate;
    reply.header('ratelimit-policy', `"minute";q=${limit};w=60`);
    reply.header('ratelimit', `"minute";r=${remaining};t=${Math.max(0, Math.ceil((resetAt - now) / 1000))}`);
  }
}

/** Sends a small answer that was made here. */
export function sendEnvelope(
  reply: FastifyReply,
  status: number,
  data: unknown,
  options: { message?: string; facts?: CallFacts; now: number },
): FastifyReply {
  setFacts(reply, options.facts ?? { unitsConsumed: 0 }, options.now);
  const body = okBody(data, options.message);
  return reply.code(status).header('content-type', JSON_TYPE).send(body);
}

/** Sends an error of the list. Nothing is charged for it. */
export function sendError(reply: FastifyReply, error: SoukError, now: number): FastifyReply {
  const { status } = ERRORS[error.kind];
  setFacts(reply, { unitsConsumed: 0 }, now);
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds);
  return reply.code(status).header('content-type', JSON_TYPE).send(errorBody(error));
}
