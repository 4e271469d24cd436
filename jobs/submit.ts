import { v7 as uuid } from 'uuid';
import {
  type Admission,
  type Admissions,
  type CallRequest,
  DEDUPLICATION_SECONDS,
  type MinuteRate,
} from '../src/billing/admission.ts';
import { type Call, hasJoinableCall } from '../src/billing/calls.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import type { Clock } from '../src/clock.ts';
import type { Database } from '../src/db/pool.ts';
import { SoukError, toRecord } from '../src/errors.ts';
import { fingerprint } from '../src/fingerprint.ts';
import { maxAgeMs, type QueuedOperation, shownInput } from '../src/operations/define.ts';
import { type Answer, type AnswerStore, OWN_ANSWER, sharedAnswerRef } from '../src/results/answer-store.ts';
import type { Backlog } from './backlog.ts';
import { rideOut } from './outage.ts';
import type { Payload } from './payload.ts';
import { ASYNC_QUEUE_ALLOWANCE_MS, POOLS, type PoolName, QUEUE_ALLOWANCE_MS } from './pools.ts';
import type { Queues } from './queues.ts';

/** A valid request, ready to be admitted. */
export interface Order {
  operation: QueuedOperation;
  /** Canonical input. */
  input: unknown;
  keyHash: Buffer;
  /** The caller does not wait: it is given the job, and comes back for the answer. */
  async: boolean;
}

/** What became of an order. Units were reserved or charged unless it was joined. */
export type Submission =
  | { kind: 'cached'; accountId: number; callId: string; answer: Answer; rate: MinuteRate }
  | {
      kind: 'started';
      accountId: number;
      callId: string;
      pool: PoolName;
      rate: MinuteRate;
      enqueue(): Promise<void>;
    }
  | {
      kind: 'joined';
      accountId: number;
      callId: string;
      pool: PoolName;
      finished: boolean;
      answerRef: string | null;
    };

export interface SubmitDeps {
  database: Database;
  admissions: Admissions;
  settlements: Settlements;
  answers: AnswerStore;
  backlog: Backlog;
  queues: Queues;
  clock: Clock;
}

/** What identifies an answer that may be shown to any account: all of the input that shows in it. */
export function presentationIdOf(operation: QueuedOperation, input: unknown): string {
  return fingerprint('presentation', operation.name, shownInput(operation, input));
}

/** What identifies a call among those of its account: what it shows, and how fresh it must be. */
export function chargeIdOf(
  operation: QueuedOperation,
  input: unknown,
  presentationId = presentationIdOf(operation, input),
): string {
  const freshness = operation.freshness && (input as Record<string, unknown>)[operation.freshness];
  return fingerprint('charge', presentationId, freshness ?? null);
}

/**
 * Lets an order in: answers it from the shared answers, joins it to the same call of the account, or reserves its
 * units so that it can be enqueued.
 * @throws SoukError KEY_*, QUOTA_* or BUSY; then nothing is charged.
 */
export async function submit(deps: SubmitDeps, order: Order): Promise<Submission> {
  const { answers, backlog, clock, database } = deps;
  const { operation, input, keyHash } = order;
  const pool = operation.queue(input);
  const presentationId = presentationIdOf(operation, input);
  const shared = await findFresh(answers, presentationId, clock.now() - maxAgeMs(operation, input));
  const chargeId = chargeIdOf(operation, input, presentationId);
  if (!shared) {
    const busy = busyError(backlog.estimateWaitMs(pool), allowanceMs(order.async));
    // However busy the pool is, a call that is under way, or was answered just now, can be joined.
    const acceptedAfter = clock.now() - DEDUPLICATION_SECONDS * 1000;
    if (busy && !(await hasJoinableCall(database, keyHash, chargeId, acceptedAfter))) throw busy;
  }

  const callId = uuid();
  const now = clock.now();
  // A caller who polls may come for the answer after it was lost. Only a call that could be a job keeps its input, from
  // which the answer is made again; so its units are reserved, and it is settled once the answer is in its place.
  const answerRef = shared && !order.async ? sharedAnswerRef(presentationId, shared.meta.version) : null;
  const deadlineAt = now + POOLS[pool].timeoutMs + allowanceMs(order.async);
  const admission = await admit(deps, {
    keyHash,
    callId,
    operation: operation.name,
    chargeId,
    units: shared?.meta.units ?? operation.price.quote(input),
    pool,
    deadlineAt,
    input,
    answer: answerRef,
  });
  const { accountId } = admission;

  if (admission.kind === 'joined') {
    if (order.async) await keepJoined(answers, admission);
    return {
      kind: 'joined',
      accountId,
      callId: admission.callId,
      pool,
      finished: admission.finished,
      answerRef: admission.answer,
    };
  }
  if (shared) {
    const cached = { kind: 'cached', accountId, callId, answer: shared, rate: admission.rate } as const;
    if (!order.async || (await settleAtOnce(deps, accountId, callId, shared))) return cached;
  }
  const unitsReserved = shared?.meta.units ?? operation.price.quote(input);
  const payload: Payload = {
    version: 1,
    callId,
    accountId,
    operation: operation.name,
    input,
    unitsReserved,
    deadlineAt,
  };
  return {
    kind: 'started',
    accountId,
    callId,
    pool,
    rate: admission.rate,
    enqueue: () => enqueue(deps, pool, payload, order.async),
  };
}

/** Makes the answer of a call that is settled already once more; nothing is charged for it. */
export async function enqueueAgain(
  { queues, clock }: SubmitDeps,
  operation: QueuedOperation,
  { callId, accountId, input }: { callId: string; accountId: number; input: unknown },
): Promise<void> {
  const pool = operation.queue(input);
  const deadlineAt = clock.now() + POOLS[pool].timeoutMs + QUEUE_ALLOWANCE_MS;
  const unitsReserved = operation.price.quote(input);
  await addJob(queues, pool, {
    version: 1,
    callId,
    accountId,
    operation: operation.name,
    input,
    unitsReserved,
    deadlineAt,
  });
}

/**
 * Whether a lost answer is made again for its owner. The answer to a caller who waited was delivered; it is owed again
 * only for as long as the same call would join it. A caller who polls is owed it for as long as results are kept.
 */
export function canBeMadeAgain({ acceptedAt, deadlineAt, pool }: Call, now: number): boolean {
  const polled = deadlineAt - acceptedAt > POOLS[pool].timeoutMs + QUEUE_ALLOWANCE_MS;
  return polled || now - acceptedAt < DEDUPLICATION_SECONDS * 1000;
}

/** Keeps the answer of a joined call for a caller who polls; one that is shared does not live as long, so it is copied. */
async function keepJoined(
  answers: AnswerStore,
  { callId, answer: ref }: Extract<Admission, { kind: 'joined' }>,
): Promise<void> {
  await answers.keep(callId);
  if (ref === null || ref === OWN_ANSWER) return;
  const answer = await answers.load(callId, ref);
  if (answer) await answers.putOwn(callId, answer);
}

/** Adds the job of a call to its queue; a job that is there already stays as it is. */
export async function addJob(queues: Queues, pool: PoolName, payload: Payload): Promise<void> {
  await queues[pool].add(payload.operation, payload, { jobId: payload.callId });
}

/**
 * Admits a call although the database may be going away. An admission whose answer was lost may have counted, so the call
 * is offered again under its own id: what it then joins is itself.
 */
async function admit({ admissions, clock }: SubmitDeps, request: CallRequest): Promise<Admission> {
  const admission = await rideOut(clock, () => admissions.admit(request));
  if (admission.kind !== 'joined' || admission.callId !== request.callId) return admission;
  const { accountId, callId } = admission;
  return { kind: request.answer === null ? 'started' : 'cached', accountId, callId, rate: null };
}

/** Settles a call whose answer is at hand. @returns false when that did not work; then it is to be a job. */
async function settleAtOnce(
  { answers, settlements, clock }: SubmitDeps,
  accountId: number,
  callId: string,
  answer: Answer,
): Promise<boolean> {
  try {
    await answers.keep(callId);
    await answers.putOwn(callId, answer);
  } catch {
    return false;
  }
  const { units } = answer.meta;
  const done = { units, answer: OWN_ANSWER, error: null, startedAt: null, attempts: 0 };
  await rideOut(clock, () => settlements.end({ accountId, callId, ...done }));
  return true;
}

async function enqueue(
  { queues, settlements, answers, clock }: SubmitDeps,
  pool: PoolName,
  payload: Payload,
  async: boolean,
): Promise<void> {
  try {
    if (async) await answers.keep(payload.callId);
    await addJob(queues, pool, payload);
  } catch (cause) {
    const error = new SoukError('BUSY', {
      message: 'The job queue cannot be reached.',
      retryAfterSeconds: 5,
      cause,
    });
    const { accountId, callId } = payload;
    const failed = { units: 0, answer: null, error: toRecord(error), startedAt: null, attempts: 0 };
    await rideOut(clock, () => settlements.end({ accountId, callId, ...failed }));
    throw error;
  }
}

async function findFresh(
  answers: AnswerStore,
  presentationId: string,
  fetchedAfter: number,
): Promise<Answer | null> {
  const found = await answers.findShared(presentationId);
  if (!found || found.meta.fetchedAt <= fetchedAfter) return null;
  const body = found.body ?? (await answers.loadSharedBody(presentationId, found.meta));
  return body && { meta: found.meta, body };
}

function busyError(waitMs: number, allowedMs: number): SoukError | null {
  if (waitMs <= allowedMs) return null;
  if (!Number.isFinite(waitMs)) {
    return new SoukError('BUSY', { message: 'No worker is available for this call.', retryAfterSeconds: 10 });
  }
  const retryAfterSeconds = Math.ceil((waitMs - allowedMs) / 1000);
  return new SoukError('BUSY', { message: 'Too much work is waiting already.', retryAfterSeconds });
}

function allowanceMs(async: boolean): number {
  return async ? ASYNC_QUEUE_ALLOWANCE_MS : QUEUE_ALLOWANCE_MS;
}
