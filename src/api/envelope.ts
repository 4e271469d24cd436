import type { FastifyReply } from 'fastify';
import { ERRORS, type SoukError } from '../platform/errors.ts';
import { errorBody, JSON_TYPE, okBody } from '../results/envelope.ts';

/** Facts about a call that headers of the answer state. */
export interface CallFacts {
  unitsConsumed: number;
  /** HIT: all data came from the cache. */
  cache?: 'HIT' | 'MISS';
  jobId?: string;
  minute?: MinuteFacts | null;
  deduplicated?: boolean;
}

/** Calls left in this minute, for an account with a limit. */
export interface MinuteFacts {
  limit: number;
  remaining: number;
  resetSeconds: number;
}

/** Facts for an answer that is free and belongs to no call. */
const FREE: CallFacts = { unitsConsumed: 0 };

/** Sets the headers of every answer. */
export function setFacts(reply: FastifyReply, facts: CallFacts = FREE): void {
  reply.header('x-response-time', `${Math.round(performance.now() - reply.request.startedAt)}ms`);
  reply.header('x-units-consumed', facts.unitsConsumed);
  reply.header('x-request-id', reply.request.id);
  if (facts.cache) reply.header('x-cache', facts.cache);
  if (facts.jobId) reply.header('x-job-id', facts.jobId);
  if (facts.deduplicated) reply.header('x-deduplicated', 'true');
  if (facts.minute) {
    const { limit, remaining, resetSeconds } = facts.minute;
    reply.header('ratelimit-policy', `"minute";q=${limit};w=60`);
    reply.header('ratelimit', `"minute";r=${remaining};t=${resetSeconds}`);
  }
}

/** Sends a small answer that the gateway itself produced. */
export function sendEnvelope(
  reply: FastifyReply,
  status: number,
  data: unknown,
  { message, facts }: { message?: string | undefined; facts?: CallFacts } = {},
): FastifyReply {
  setFacts(reply, facts);
  return reply.code(status).header('content-type', JSON_TYPE).send(okBody(data, message));
}

/** Sends an error. Errors are free. */
export function sendError(reply: FastifyReply, error: SoukError): FastifyReply {
  setFacts(reply);
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds);
  return reply.code(ERRORS[error.kind].status).header('content-type', JSON_TYPE).send(errorBody(error));
}
