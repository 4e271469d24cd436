import type { FastifyReply, FastifyRequest } from 'fastify';
import { noteJoined, promote } from '../../jobs/joined.ts';
import { enqueueAgain } from '../../jobs/lost-answer.ts';
import { quoteOrder } from '../../jobs/quote.ts';
import { type Order, type Submission, submit } from '../../jobs/submit.ts';
import type { QueuedOperation, Route } from '../operations/define.ts';
import { POOLS } from '../operations/pools.ts';
import { fromRecord } from '../platform/errors.ts';
import { OWN_ANSWER } from '../results/answer-store.ts';
import { callOptionsOf } from './call-options.ts';
import { callWebhookOf, requireCallSecret, watchCall } from './call-webhook.ts';
import { type CallFacts, sendEnvelope } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { jobLinks, PENDING_RETRY_SECONDS } from './job-view.ts';
import type { Preference } from './preferences.ts';
import { quoteView } from './quote-view.ts';
import { keyHashOf, orKeyError, parseInput } from './request-input.ts';
import { sendAnswer } from './send-answer.ts';

/** Serves one route of a queued operation: from the request to the answer, or to the job that will bring it. */
export function serveQueued(gateway: Gateway, operation: QueuedOperation, route: Route) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const keyHash = keyHashOf(gateway, request);
    const { input, webhook, preference, dryRun, maxUnits } = await orKeyError(gateway, keyHash, () => {
      const input: unknown = parseInput(operation, route, request, gateway.clock.now());
      const options = callOptionsOf(request, POOLS[operation.queue(input)].timeoutMs);
      return { input, webhook: callWebhookOf(gateway, request.query), ...options };
    });
    if (webhook !== null) await requireCallSecret(gateway, keyHash);
    const waiting = preference.async ? 'poller' : 'caller';
    const order: Order = { operation, input, caller: { keyHash }, maxUnits, waiting };
    if (dryRun) {
      const quote = await orKeyError(gateway, keyHash, () => quoteOrder(gateway, order));
      return sendEnvelope(reply, 200, quoteView(operation, quote), { now: gateway.clock.now() });
    }
    if (preference.applied) reply.header('preference-applied', preference.applied);

    const submission = await orKeyError(gateway, keyHash, () => submit(gateway, order));
    if (webhook !== null) await watchCall(gateway, submission, webhook);
    switch (submission.kind) {
      case 'cached':
        return replyCached(gateway, reply, operation, submission, preference);
      case 'started':
        return replyStarted(gateway, reply, operation, submission, preference);
      case 'joined':
        return replyJoined(gateway, reply, operation, input, submission, preference);
    }
  };
}

type Cached = Extract<Submission, { kind: 'cached' }>;
type Started = Extract<Submission, { kind: 'started' }>;
type Joined = Extract<Submission, { kind: 'joined' }>;

function replyCached(
  gateway: Gateway,
  reply: FastifyReply,
  operation: QueuedOperation,
  cached: Cached,
  { async }: Preference,
) {
  const { answer, callId, rate } = cached;
  const facts: CallFacts = { unitsConsumed: answer.meta.units, cache: 'HIT', jobId: callId, rate };
  if (async) return replyWithJob(gateway, reply, operation, callId, facts);
  return sendAnswer(reply, answer, facts, gateway.clock.now());
}

async function replyStarted(
  gateway: Gateway,
  reply: FastifyReply,
  operation: QueuedOperation,
  { callId, accountId, rate, enqueue }: Started,
  { async, waitMs }: Preference,
) {
  const pending: CallFacts = { unitsConsumed: 0, jobId: callId, rate };
  if (async) {
    await enqueue();
    return replyWithJob(gateway, reply, operation, callId, pending);
  }
  const waiting = gateway.completions.wait({ accountId, callId }, waitMs, true);
  await enqueue();
  return replyWhenEnded(gateway, reply, operation, callId, waiting, { pending, deduplicated: false });
}

async function replyJoined(
  gateway: Gateway,
  reply: FastifyReply,
  operation: QueuedOperation,
  input: unknown,
  joined: Joined,
  { async, waitMs }: Preference,
) {
  const { callId, accountId, finished, answerRef } = joined;
  const pending: CallFacts = { unitsConsumed: 0, jobId: callId, deduplicated: true };
  if (!finished) await noteJoined(gateway.redis, gateway.keys, joined);
  if (joined.background) await promote(gateway, joined);
  if (async) return replyWithJob(gateway, reply, operation, callId, pending);
  if (finished) {
    const answer = await gateway.answers.load(callId, answerRef ?? OWN_ANSWER);
    if (answer) return sendAnswer(reply, answer, { ...pending, cache: 'HIT' }, gateway.clock.now());
  }
  const waiting = gateway.completions.wait({ accountId, callId }, waitMs, finished);
  // The call is paid for and its answer is lost, so it is made again for nothing.
  if (finished) await enqueueAgain(gateway, operation, { accountId, callId, input });
  return replyWhenEnded(gateway, reply, operation, callId, waiting, { pending, deduplicated: true });
}

/** Waits for the end of a call and sends what it brought; or the job, when the caller's patience ends first. */
async function replyWhenEnded(
  gateway: Gateway,
  reply: FastifyReply,
  operation: QueuedOperation,
  callId: string,
  waiting: ReturnType<Gateway['completions']['wait']>,
  { pending, deduplicated }: { pending: CallFacts; deduplicated: boolean },
) {
  const news = await waiting;
  if (news?.error) {
    reply.header('x-job-id', callId);
    throw fromRecord(news.error);
  }
  // While Redis is away the answer cannot be sent, but it is paid for: its job brings it later.
  const answer = news && (await gateway.answers.load(callId, OWN_ANSWER).catch(() => null));
  if (!answer) {
    await gateway.answers.keep(callId).catch(() => {});
    return replyWithJob(gateway, reply, operation, callId, pending);
  }
  const unitsConsumed = deduplicated ? 0 : news.unitsCharged;
  const cache = answer.meta.fromCache ? 'HIT' : 'MISS';
  return sendAnswer(reply, answer, { ...pending, unitsConsumed, cache }, gateway.clock.now());
}

function replyWithJob(
  gateway: Gateway,
  reply: FastifyReply,
  operation: QueuedOperation,
  callId: string,
  facts: CallFacts,
) {
  const links = jobLinks(callId);
  reply.header('location', links.self).header('retry-after', PENDING_RETRY_SECONDS);
  const data = { jobId: callId, operation: operation.name, links };
  return sendEnvelope(reply, 202, data, { message: 'accepted', facts, now: gateway.clock.now() });
}
