import type { FastifyReply } from 'fastify';
import { type Mode, modeOf } from '../accounts/test-accounts.ts';
import { type CallRate, ERRORS, type SoukError } from '../platform/errors.ts';
import { ACCEPTED_CODE, errorBody, inMode, JSON_TYPE, okBody } from '../results/envelope.ts';

/** Facts about a call that headers of the answer state. */
export interface CallFacts {
  unitsConsumed: number;
  /** HIT: all data came from the cache. */
  cache?: 'HIT' | 'MISS';
  jobId?: string;
  /** The calls left in this minute, for an account with a limit. */
  minute?: CallRate | null;
  /** Units that the job cost, for an answer that is fetched later. */
  unitsCharged?: number;
  deduplicated?: boolean;
}

/** Facts for an answer that is free and belongs to no call. */
const FREE: CallFacts = { unitsConsumed: 0 };

/** Sets the headers of every answer. */
export function setFacts(reply: FastifyReply, facts: CallFacts = FREE): void {
  if (modeOfReply(reply) === 'test') reply.header('x-livemode', 'false');
  reply.header('x-response-time', `${Math.round(performance.now() - reply.request.startedAt)}ms`);
  reply.header('x-units-consumed', facts.unitsConsumed);
  reply.header('x-request-id', reply.request.id);
  if (facts.cache) reply.header('x-cache', facts.cache);
  if (facts.jobId) reply.header('x-job-id', facts.jobId);
  if (facts.unitsCharged !== undefined) reply.header('x-units-charged', facts.unitsCharged);
  if (facts.deduplicated) reply.header('x-deduplicated', 'true');
  if (facts.minute) {
    const { limit, remaining, resetSeconds } = facts.minute;
    reply.header('ratelimit-policy', `"minute";q=${limit};w=60`);
    reply.header('ratelimit', `"minute";r=${remaining};t=${resetSeconds}`);
  }
}

/** Returns the mode of the account that receives an answer; `live` if the account is not known. */
export function modeOfReply({ request }: FastifyReply): Mode {
  return modeOf(request.accountId ?? 0);
}

interface Envelope {
  message?: string | undefined;
  code?: string | undefined;
  facts?: CallFacts;
}

/** The envelope of an answer with status 202 that holds a job instead of its result. */
export const ACCEPTED = { message: 'accepted', code: ACCEPTED_CODE };

/** Sends a small answer that the gateway itself produced. */
export function sendEnvelope(
  reply: FastifyReply,
  status: number,
  data: unknown,
  { message, code, facts }: Envelope = {},
): FastifyReply {
  setFacts(reply, facts);
  return reply
    .code(status)
    .header('content-type', JSON_TYPE)
    .send(inMode(modeOfReply(reply), okBody(data, message, code)));
}

/** Sends an error. Errors are free. */
export function sendError(reply: FastifyReply, error: SoukError): FastifyReply {
  setFacts(reply, error.rate ? { ...FREE, minute: error.rate } : FREE);
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds);
  const body = inMode(modeOfReply(reply), errorBody(error));
  return reply.code(ERRORS[error.kind].status).header('content-type', JSON_TYPE).send(body);
}
