import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { canBeMadeAgain, enqueueAgain } from '../../jobs/submit.ts';
import { type Call, findCall } from '../billing/calls.ts';
import { fromRecord, SoukError } from '../errors.ts';
import { queuedOperation } from '../operations/index.ts';
import { OWN_ANSWER, POLL_LIFETIME_MS } from '../results/answer-store.ts';
import { sendEnvelope } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { jobView, PENDING_RETRY_SECONDS } from './job-view.ts';
import { pollWaitMs } from './preferences.ts';
import { keyHashOf } from './request-input.ts';
import { sendAnswer } from './send-answer.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Polling: the state of a job, and its result. Free; a job of another account does not exist. */
export function registerJobs(app: FastifyInstance, gateway: Gateway): void {
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
}

/** The call a request names, once it has ended or the request's patience has. @throws SoukError JOB_NOT_FOUND. */
async function awaitedCall(gateway: Gateway, request: FastifyRequest): Promise<Call> {
  const { database, authentication, completions, clock } = gateway;
  const accountId = await authentication.accountOf(keyHashOf(gateway, request));
  const { id: callId } = request.params as { id: string };
  const waitMs = pollWaitMs((request.query as Record<string, unknown>).wait);
  const find = async () => (UUID.test(callId) ? findCall(database, accountId, callId) : null);
  let call = await find();
  if (call?.state === 'reserved' && waitMs > 0) {
    await completions.wait({ accountId, callId: call.callId }, waitMs, false);
    call = await find();
  }
  if (!call || clock.now() - call.acceptedAt > POLL_LIFETIME_MS) throw new SoukError('JOB_NOT_FOUND');
  return call;
}

async function sendJob(
  gateway: Gateway,
  reply: FastifyReply,
  call: Call,
  pendingStatus: 200 | 202,
): Promise<FastifyReply> {
  if (call.state === 'reserved') reply.header('retry-after', PENDING_RETRY_SECONDS);
  const data = await jobView(call, gateway.queues);
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
