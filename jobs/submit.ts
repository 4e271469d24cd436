import { v7 as uuid } from 'uuid';
import {
  type Admission,
  type Admissions,
  type Caller,
  type CallRequest,
  DEDUPLICATION_SECONDS,
  type MinuteRate,
} from '../src/billing/admission.ts';
import { hasJoinableCall } from '../src/billing/calls.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import { editionFor } from '../src/brand-analytics/weeks.ts';
import { maxAgeMs, type QueuedOperation } from '../src/operations/define.ts';
import {
  ASYNC_QUEUE_ALLOWANCE_MS,
  POOLS,
  type PoolName,
  QUEUE_ALLOWANCE_MS,
} from '../src/operations/pools.ts';
import type { OperationBook } from '../src/operator/operation-book.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { Database } from '../src/platform/db/pool.ts';
import { SoukError, toRecord } from '../src/platform/errors.ts';
import { rideOut } from '../src/platform/retry-during-outage.ts';
import type { CacheUse } from '../src/platform/telemetry/cache-metrics.ts';
import { type Span, type Tracing, traced } from '../src/platform/telemetry/tracing.ts';
import { type Answer, type AnswerStore, OWN_ANSWER, sharedAnswerRef } from '../src/results/answer-store.ts';
import type { Backlog } from './backlog.ts';
import { chargeIdOf, presentationIdOf } from './identity.ts';
import type { Payload } from './payload.ts';
import { addJob, type Queues } from './queues.ts';
import { BACKGROUND_PRIORITY, type Turns } from './turns.ts';

/** A valid request, ready to be admitted. */
export interface Order {
  operation: QueuedOperation;
  /** Canonical input. */
  input: unknown;
  caller: Caller;
  /** The most units the caller will pay; null: whatever it costs. */
  maxUnits: number | null;
  waiting: Waiting;
}

/** Who waits for the answer: somebody on the line, somebody who comes back for the job, or a batch, which has time until then. */
export type Waiting = 'caller' | 'poller' | { batchUntil: number; callId: string };

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
      /** It was a call of a batch so far. */
      background: boolean;
      answerRef: string | null;
    };

export interface SubmitDeps {
  database: Database;
  admissions: Admissions;
  settlements: Settlements;
  answers: AnswerStore;
  backlog: Pick<Backlog, 'estimateWaitMs'>;
  queues: Queues;
  turns: Turns;
  clock: Clock;
  /** Told whether answers were at hand. */
  answerUse?: CacheUse;
  /** Told what was sold, and what it would have cost. */
  book?: Pick<OperationBook, 'sold' | 'saved'>;
  tracing?: Tracing | null;
}

/**
 * Lets an order in: answers it from the shared answers, joins it to the same call of the account, or reserves its
 * units so that it can be enqueued.
 * @throws SoukError KEY_*, QUOTA_*, BUSY, or VALIDATION_FAILED when a report is not loaded; then nothing is charged.
 */
export async function submit(deps: SubmitDeps, order: Order): Promise<Submission> {
  return traced(deps.tracing, { name: `submit ${order.operation.name}`, kind: 'producer' }, async (span) => {
    const submission = await letIn(deps, order, span);
    span?.set({ 'souk.outcome': submission.kind, 'souk.job_id': submission.callId });
    return submission;
  });
}

async function letIn(deps: SubmitDeps, order: Order, span: Span | null): Promise<Submission> {
  const { answers, clock, database } = deps;
  const { operation, input, caller, waiting } = order;
  const pool = operation.queue(input);
  const edition = await rideOut(clock, () => editionFor(database, operation, input));
  const presentationId = presentationIdOf(operation, input, edition);
  const shared = await findFresh(answers, presentationId, clock.now() - maxAgeMs(operation, input));
  // The same call within five minutes is the same call, whatever was imported meanwhile.
  const chargeId = chargeIdOf(operation, input, edition === null ? presentationId : undefined);
  const unitsReserved = shared?.meta.units ?? operation.price.quote(input);
  refuseWhenTooDear(unitsReserved, order.maxUnits);
  if (!shared) await refuseWhenBusy(deps, order, pool, chargeId);

  const background = typeof waiting === 'object';
  const callId = background ? waiting.callId : uuid();
  // A caller who polls may come for the answer after it was lost. Only a call that could be a job keeps its input, from
  // which the answer is made again; so its units are reserved, and it is settled once the answer is in its place.
  const answerRef =
    shared && waiting !== 'poller' ? sharedAnswerRef(presentationId, shared.meta.version) : null;
  const deadlineAt = deadlineOf(waiting, pool, clock.now());
  const admission = await admit(deps, {
    caller,
    callId,
    operation: operation.name,
    chargeId,
    units: unitsReserved,
    pool,
    deadlineAt,
    input,
    answer: answerRef,
    background,
  });
  const { accountId } = admission;

  if (admission.kind === 'joined') {
    const { callId, finished, background, answer } = admission;
    if (waiting === 'poller') await answers.keepGiven(callId, answer);
    return { kind: 'joined', accountId, callId, pool, finished, background, answerRef: answer };
  }
  if (!shared) deps.answerUse?.miss();
  else {
    deps.answerUse?.hit(shared.meta.tokens);
    deps.book?.saved(operation.name, shared.meta.tokens);
    const cached = { kind: 'cached', accountId, callId, answer: shared, rate: admission.rate } as const;
    if (answerRef !== null || (await settleAtOnce(deps, accountId, callId, shared))) {
      deps.book?.sold(operation.name, shared.meta.units);
      return cached;
    }
  }
  const payload: Payload = {
    version: 1,
    callId,
    accountId,
    operation: operation.name,
    input,
    unitsReserved,
    deadlineAt,
    background,
    ...(span ? { traceparent: span.traceparent } : {}),
  };
  return {
    kind: 'started',
    accountId,
    callId,
    pool,
    rate: admission.rate,
    enqueue: () => enqueue(deps, order, pool, payload),
  };
}

/** @throws SoukError QUOTA_MAX_UNITS. */
export function refuseWhenTooDear(needed: number, maxUnits: number | null): void {
  if (maxUnits === null || needed <= maxUnits) return;
  throw new SoukError('QUOTA_MAX_UNITS', {
    message: `The call costs ${needed} units, more than the ${maxUnits} that maxUnits allows.`,
    metadata: { needed, maxUnits },
  });
}

/** @throws SoukError BUSY. A call of a batch is never too much: whoever feeds it sees to that. */
export async function refuseWhenBusy(
  { backlog, clock, database, turns }: SubmitDeps,
  { caller, waiting }: Order,
  pool: PoolName,
  chargeId: string,
): Promise<void> {
  if (typeof waiting === 'object' || !('keyHash' in caller)) return;
  const allowedMs = waiting === 'poller' ? ASYNC_QUEUE_ALLOWANCE_MS : QUEUE_ALLOWANCE_MS;
  const priority = turns.peek({ pool, waiting, key: nameOf(caller) });
  const busy = busyError(await backlog.estimateWaitMs(pool, priority), allowedMs);
  // However busy the pool is, a call that is under way, or was answered just now, can be joined.
  const acceptedAfter = clock.now() - DEDUPLICATION_SECONDS * 1000;
  if (busy && !(await hasJoinableCall(database, caller.keyHash, chargeId, acceptedAfter))) throw busy;
}

function deadlineOf(waiting: Waiting, pool: PoolName, now: number): number {
  if (typeof waiting === 'object') return waiting.batchUntil;
  const allowanceMs = waiting === 'poller' ? ASYNC_QUEUE_ALLOWANCE_MS : QUEUE_ALLOWANCE_MS;
  return now + POOLS[pool].timeoutMs + allowanceMs;
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
  { queues, settlements, answers, clock, turns }: SubmitDeps,
  { caller, waiting }: Order,
  pool: PoolName,
  payload: Payload,
): Promise<void> {
  const { accountId, callId, deadlineAt } = payload;
  try {
    if (waiting === 'poller') await answers.keep(callId);
    const priority =
      typeof waiting === 'object'
        ? BACKGROUND_PRIORITY
        : turns.take({ pool, waiting, accountId, key: nameOf(caller), callId, deadlineAt });
    await addJob(queues, pool, payload, priority);
  } catch (cause) {
    turns.end(callId);
    const error = new SoukError('BUSY', {
      message: 'The job queue cannot be reached.',
      retryAfterSeconds: 5,
      cause,
    });
    const failed = { units: 0, answer: null, error: toRecord(error), startedAt: null, attempts: 0 };
    await rideOut(clock, () => settlements.end({ accountId, callId, ...failed }));
    throw error;
  }
}

/** The shared answer that will do for a call. */
export async function findFresh(
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

function nameOf(caller: Caller): string {
  return 'keyHash' in caller ? caller.keyHash.toString('latin1') : String(caller.accountId);
}
