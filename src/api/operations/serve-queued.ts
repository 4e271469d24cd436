import type { FastifyReply, FastifyRequest } from 'fastify';
import { noteJoined, promote } from '../../../jobs/control.ts';
import { poolOf } from '../../../jobs/payload.ts';
import { enqueueAgain, keepForPolling } from '../../../jobs/polled.ts';
import { quoteCall } from '../../../jobs/quote.ts';
import { type CallRequest, type Submission, type SubmitDeps, submit } from '../../../jobs/submit.ts';
import type { CompletionMap } from '../../../jobs/wait.ts';
import { type Authentication, KeyChanged } from '../../accounts/authentication.ts';
import { requireScope } from '../../accounts/key-settings.ts';
import type { RequireStorage, WebhookSettings } from '../../batches/limits.ts';
import { findCall } from '../../billing/calls.ts';
import { type QueuedOperation, type Route, utcDay } from '../../operations/define.ts';
import { ASYNC_QUEUE_ALLOWANCE_MS, LONGEST_WAIT_MS, POOLS } from '../../operations/pools.ts';
import { requireSecret } from '../../outbox/webhooks/secrets.ts';
import { requireWebhookRoom, WEBHOOK_LIMITS } from '../../outbox/webhooks/webhook-limits.ts';
import { type CallRate, fromRecord } from '../../platform/errors.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import { OWN_ANSWER } from '../../results/answer-store.ts';
import { ACCEPTED, type CallFacts, sendAnswer, sendEnvelope } from '../envelope.ts';
import { jobLinks, PENDING_RETRY_SECONDS } from '../job-view.ts';
import type { FreeRequests } from '../limits/limits.ts';
import { authenticate, knownKeyOf, scopesOfOperation, wellFormedKey } from '../plugins/authentication.ts';
import { quoteView } from '../quote-view.ts';
import {
  type CallOptions,
  callOptionsOf,
  callWebhookOf,
  formatOf,
  inFormat,
  type ParsedRequests,
  type Preference,
  parseInput,
  watchCall,
} from './call-options.ts';

export interface QueuedDeps extends SubmitDeps {
  redis: Redis;
  keys: RedisKeys;
  completions: CompletionMap;
  authentication: Authentication;
  webhooks: WebhookSettings;
  freeRequests: FreeRequests;
  requireStorage: RequireStorage;
  parsed: ParsedRequests;
}

/** A submitted call, and the preferences for its answer. */
interface SubmittedCall {
  deps: QueuedDeps;
  reply: FastifyReply;
  operation: QueuedOperation;
  input: unknown;
  preference: Preference;
}

/** A parsed call, and the request that makes it. */
interface RequestedCall {
  request: FastifyRequest;
  reply: FastifyReply;
  operation: QueuedOperation;
  input: unknown;
  options: CallOptions;
  /** The address that receives the completion, or null. */
  webhook: string | null;
}

/** Serves one route of a queued operation: returns the answer, or the job that will produce it. @throws SoukError if the request is invalid. */
export function serveQueued(deps: QueuedDeps, operation: QueuedOperation, route: Route) {
  return (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    wellFormedKey(request);
    const now = deps.clock.now();
    const sent = formatOf(request);
    // The address does not have what comes from a header.
    const form = sent?.parameter === 'Accept' ? `.${sent.format}` : '';
    const input = deps.parsed.input(request, `${operation.onDay ? utcDay(now) : ''}${form}`, () =>
      inFormat(operation, parseInput(operation, route, request, now), request.query, sent),
    );
    const { timeoutMs } = POOLS[poolOf(knownKeyOf(request).accountId, operation, input)];
    const options = callOptionsOf(request, Math.min(timeoutMs, LONGEST_WAIT_MS));
    const webhook = callWebhookOf(deps.webhooks, request.query);
    return answerCall(deps, { request, reply, operation, input, options, webhook });
  };
}

/** Makes a call: returns its price, its answer, or the job that will produce the answer. */
export async function answerCall(deps: QueuedDeps, requested: RequestedCall): Promise<FastifyReply> {
  const { request } = requested;
  try {
    return await answerOnce(deps, requested);
  } catch (error) {
    if (!(error instanceof KeyChanged)) throw error;
    // The limits of the key have changed since this gateway looked them up, and nothing was admitted.
    await authenticate(deps, request, wellFormedKey(request));
    return answerOnce(deps, requested);
  }
}

async function answerOnce(deps: QueuedDeps, requested: RequestedCall): Promise<FastifyReply> {
  const { request, reply, operation, input, options, webhook } = requested;
  const { preference, dryRun, maxUnits } = options;
  const { database, freeRequests } = deps;
  const keyHash = wellFormedKey(request);
  const { accountId, scopes, version: keyVersion } = knownKeyOf(request);
  requireScope(scopes, scopesOfOperation(operation));
  if (webhook !== null) {
    // A webhook without a signing secret, and one beyond the limit, are refused before units are reserved.
    await authenticate(deps, request, keyHash);
    await requireSecret(database, accountId, 'webhook');
    await requireWebhookRoom(database, { accountId, url: webhook }, deps.webhooks.limits ?? WEBHOOK_LIMITS);
  }
  const waiting = preference.async ? 'poller' : 'caller';
  const caller = { accountId, keyHash, keyVersion };
  const onAdmitted: CallRequest['onAdmitted'] =
    webhook === null ? undefined : (admission) => watchCall(deps, admission, webhook);
  const call: CallRequest = { operation, input, caller, maxUnits, waiting, onAdmitted };
  if (dryRun) {
    await freeRequests.count(accountId);
    return sendEnvelope(reply, 200, quoteView(operation, await quoteCall(deps, call)));
  }
  if (preference.applied) reply.header('preference-applied', preference.applied);

  if (preference.async) await deps.requireStorage(accountId);
  const submission = await submit(deps, call);
  request.account = { ...knownKeyOf(request), keyHash };
  if (submission.kind === 'joined') freeRequests.countLater(submission.accountId);
  return replyTo({ deps, reply, operation, input, preference }, submission);
}

type Cached = Extract<Submission, { kind: 'cached' }>;
type Started = Extract<Submission, { kind: 'started' }>;
type Joined = Extract<Submission, { kind: 'joined' }>;

function replyTo(call: SubmittedCall, submission: Submission): Promise<FastifyReply> | FastifyReply {
  switch (submission.kind) {
    case 'cached':
      return replyCached(call, submission);
    case 'started':
      return replyStarted(call, submission);
    case 'joined':
      return replyJoined(call, submission);
  }
}

function replyCached(call: SubmittedCall, cached: Cached): Promise<FastifyReply> | FastifyReply {
  const { answer, callId, units } = cached;
  const facts: CallFacts = {
    unitsConsumed: units,
    cache: 'HIT',
    jobId: callId,
    minute: minuteOf(call, cached),
  };
  return call.preference.async ? replyWithJob(call, facts, callId) : sendAnswer(call.reply, answer, facts);
}

async function replyStarted(call: SubmittedCall, started: Started): Promise<FastifyReply> {
  const { callId, accountId, enqueue } = started;
  const { async, waitMs } = call.preference;
  const pending: CallFacts = { unitsConsumed: 0, jobId: callId, minute: minuteOf(call, started) };
  if (async) {
    await enqueue();
    return replyWithJob(call, pending, callId);
  }
  const waiting = call.deps.completions.wait({ accountId, callId }, waitMs, true);
  await enqueue();
  return replyWhenEnded(call, pending, started, waiting);
}

async function replyJoined(call: SubmittedCall, joined: Joined): Promise<FastifyReply> {
  const { deps, operation, input, preference } = call;
  const { callId, accountId, finished, answerRef } = joined;
  const pending: CallFacts = { unitsConsumed: 0, jobId: callId, deduplicated: true };
  if (!finished) await noteJoined(deps.redis, deps.keys, callId, await remainingMs(deps, joined));
  if (joined.background) await promote(deps, joined);
  if (preference.async) return replyWithJob(call, pending, callId);
  if (finished) {
    const answer = await deps.answers.load(callId, answerRef ?? OWN_ANSWER);
    if (answer) return sendAnswer(call.reply, answer, { ...pending, cache: 'HIT' });
  }
  // Another process may put the job into the queue at the same time, and its job names that process.
  if (finished) await deps.completions.register(callId);
  const waiting = deps.completions.wait({ accountId, callId }, preference.waitMs, finished);
  // The call is charged but its answer is lost, so it runs again free of charge.
  if (finished) await enqueueAgain(deps, operation, { accountId, callId, input });
  return replyWhenEnded(call, pending, joined, waiting);
}

/** Returns the longest time until a call that has not finished ends. A call of a batch has the deadline of the batch. */
async function remainingMs(
  { database, clock }: QueuedDeps,
  { accountId, callId, pool, background }: Joined,
): Promise<number> {
  const longestMs = POOLS[pool].timeoutMs + ASYNC_QUEUE_ALLOWANCE_MS;
  const call = background ? await findCall(database, accountId, callId) : null;
  return call ? Math.max(longestMs, call.deadlineAt - clock.now()) : longestMs;
}

/** Waits for the end of a call and sends its answer; sends the job if the waiting time passes first. */
async function replyWhenEnded(
  call: SubmittedCall,
  pending: CallFacts,
  submission: Started | Joined,
  waiting: ReturnType<CompletionMap['wait']>,
): Promise<FastifyReply> {
  const { answers } = call.deps;
  const { accountId, callId } = submission;
  const completion = await waiting;
  if (completion?.error) {
    call.reply.header('x-job-id', callId);
    throw fromRecord(completion.error);
  }
  // During an outage of Redis the answer of a charged call cannot be read; its job returns it later.
  const answer = completion && (await answers.load(callId, OWN_ANSWER).catch(() => null));
  if (!answer) {
    await keepForPolling(call.deps, { accountId, callId }, call.input);
    return replyWithJob(call, pending, callId);
  }
  const unitsConsumed = pending.deduplicated ? 0 : completion.unitsCharged;
  const cache = answer.meta.fromCache ? 'HIT' : 'MISS';
  return sendAnswer(call.reply, answer, { ...pending, unitsConsumed, cache });
}

function replyWithJob({ reply, operation }: SubmittedCall, facts: CallFacts, callId: string): FastifyReply {
  const links = jobLinks(callId);
  reply.header('location', links.self).header('retry-after', PENDING_RETRY_SECONDS);
  const data = { jobId: callId, operation: operation.name, links };
  return sendEnvelope(reply, 202, data, { ...ACCEPTED, facts });
}

function minuteOf({ deps }: SubmittedCall, { rate }: Cached | Started): CallRate | null {
  if (!rate) return null;
  const { limit, remaining, resetAt } = rate;
  return { limit, remaining, resetSeconds: Math.max(0, Math.ceil((resetAt - deps.clock.now()) / 1000)) };
}
