import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { cancelJob } from '../../jobs/cancel.ts';
import { canBeMadeAgain, enqueueAgain } from '../../jobs/lost-answer.ts';
import { type Call, findCall, listCalls } from '../billing/calls.ts';
import { QUEUED_NAMES, queuedOperation } from '../operations/index.ts';
import { integer, oneOf } from '../operations/params/scalars.ts';
import { fromRecord, SoukError } from '../platform/errors.ts';
import { OWN_ANSWER, POLL_LIFETIME_MS } from '../results/answer-store.ts';
import { sendEnvelope } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { isUuid, uuidParameter } from './ids.ts';
import { followJob } from './job-events.ts';
import { JOB_STATES, type JobState, type JobView, jobView, PENDING_RETRY_SECONDS } from './job-view.ts';
import { pollWaitMs } from './preferences.ts';
import { accountOf, parseAs } from './request-input.ts';
import { sendAnswer } from './send-answer.ts';

/** The jobs of an account: their state, results and end. Free; a job of another account does not exist. */
export function registerJobs(app: FastifyInstance, gateway: Gateway): void {
  app.get('/api/jobs', async (request, reply) => {
    const accountId = await accountOf(gateway, request, () => parseAs(jobListSchema, request.query));
    const data = await listJobs(gateway, accountId, parseAs(jobListSchema, request.query));
    return sendEnvelope(reply, 200, data, { now: gateway.clock.now() });
  });

  app.get('/api/jobs/:id', async (request, reply) => {
    const call = await awaitedCall(gateway, request);
    return sendJob(gateway, reply, call, 200);
  });

  app.get('/api/jobs/:id/result', async (request, reply) => {
    const call = await awaitedCall(gateway, request);
    if (call.error) throw fromRecord(call.error);
    if (call.state === 'reserved') return sendJob(gateway, reply, call, 202);
    const answer = await gateway.answers.load(call.callId, call.answer ?? OWN_ANSWER);
    if (answer) {
      const { fromCache } = answer.meta;
      const facts = {
        unitsConsumed: call.unitsCharged,
        jobId: call.callId,
        cache: fromCache ? 'HIT' : 'MISS',
      } as const;
      return sendAnswer(reply, answer, facts, gateway.clock.now());
    }
    return makeAgain(gateway, reply, call);
  });

  app.get('/api/jobs/:id/events', async (request, reply) => {
    const { accountId, callId } = await ownCall(gateway, request);
    return followJob(gateway, request, reply, { accountId, callId });
  });

  app.delete('/api/jobs/:id', async (request, reply) => {
    const call = await ownCall(gateway, request);
    // One that has ended stays as it ended, and the answer tells how.
    if (call.state === 'reserved') await cancelJob(gateway, call);
    return sendJob(gateway, reply, await ownCall(gateway, request), 200);
  });
}

/** The call a request names. @throws SoukError JOB_NOT_FOUND. */
async function ownCall(gateway: Gateway, request: FastifyRequest): Promise<Call> {
  const { database, clock } = gateway;
  const accountId = await accountOf(gateway, request);
  const { id: callId } = request.params as { id: string };
  const call = isUuid(callId) ? await findCall(database, accountId, callId) : null;
  if (!call || clock.now() - call.acceptedAt > POLL_LIFETIME_MS) throw new SoukError('JOB_NOT_FOUND');
  return call;
}

/** The same, once the call has ended or the request's patience has. */
async function awaitedCall(gateway: Gateway, request: FastifyRequest): Promise<Call> {
  const { wait } = request.query as Record<string, unknown>;
  let waitMs = 0;
  await accountOf(gateway, request, () => {
    waitMs = pollWaitMs(wait);
  });
  const call = await ownCall(gateway, request);
  if (call.state !== 'reserved' || waitMs === 0) return call;
  const { accountId, callId } = call;
  await gateway.completions.wait({ accountId, callId }, waitMs, false);
  return ownCall(gateway, request);
}

async function sendJob(
  gateway: Gateway,
  reply: FastifyReply,
  call: Call,
  pendingStatus: 200 | 202,
): Promise<FastifyReply> {
  if (call.state === 'reserved') reply.header('retry-after', PENDING_RETRY_SECONDS);
  const data = await jobView(gateway, call);
  const facts = { unitsConsumed: 0, jobId: call.callId };
  return sendEnvelope(reply, pendingStatus, data, { facts, now: gateway.clock.now() });
}

/** A paid answer that the store has lost is made again, for nothing. */
async function makeAgain(gateway: Gateway, reply: FastifyReply, call: Call): Promise<FastifyReply> {
  const operation = queuedOperation(call.operation);
  if (!operation || call.input === null || !canBeMadeAgain(call, gateway.clock.now()))
    throw new SoukError('JOB_NOT_FOUND');
  await gateway.answers.keep(call.callId);
  await enqueueAgain(gateway, operation, call);
  return sendJob(gateway, reply, call, 202);
}

export const jobListSchema = z.object({
  state: oneOf(JOB_STATES).optional().describe('Only jobs in this state'),
  operation: oneOf(QUEUED_NAMES).optional().describe('Only jobs of this operation'),
  limit: integer({ min: 1, max: 100 }).default(50).describe('Jobs a page'),
  cursor: uuidParameter('the last job of the page before').optional(),
});

/** What a state as callers know it is in the books. */
const CALL_STATES: Record<JobState, Call['state']> = {
  queued: 'reserved',
  running: 'reserved',
  done: 'settled',
  failed: 'released',
  cancelled: 'released',
};

/**
 * A page of jobs, the newest first. Which of those that have not ended run, and which wait, only their queue knows, so such
 * pages may be shorter than `limit`; the last has no cursor.
 */
async function listJobs(
  gateway: Gateway,
  accountId: number,
  { state, operation, limit, cursor }: z.output<typeof jobListSchema>,
): Promise<{ jobs: JobView[]; nextCursor: string | null }> {
  const calls = await listCalls(gateway.database, accountId, {
    states: state ? [CALL_STATES[state]] : ['reserved', 'settled', 'released'],
    cancelled: state === 'cancelled' || (state === 'failed' ? false : null),
    operation: operation ?? null,
    acceptedAfter: gateway.clock.now() - POLL_LIFETIME_MS,
    before: cursor ?? null,
    limit,
  });
  const jobs = await Promise.all(calls.map((call) => jobView(gateway, call)));
  return {
    jobs: jobs.filter((job) => state === undefined || job.state === state),
    nextCursor: calls.length === limit ? (calls.at(-1)?.callId ?? null) : null,
  };
}
