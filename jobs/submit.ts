import { v7 as uuid } from 'uuid';
import {
  type Admission,
  type AdmissionRequest,
  type Admissions,
  type Caller,
  checkMaxUnits,
  DEDUPLICATION_SECONDS,
  type MinuteRate,
} from '../src/billing/admission.ts';
import { hasJoinableCall, notePolled } from '../src/billing/calls.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import type { QueuedOperation } from '../src/operations/define.ts';
import {
  ASYNC_QUEUE_ALLOWANCE_MS,
  POOLS,
  type PoolName,
  type Providers,
  QUEUE_ALLOWANCE_MS,
} from '../src/operations/pools.ts';
import type { ServiceClock } from '../src/platform/clock.ts';
import { type Database, requireRightClock } from '../src/platform/db/pool.ts';
import { SoukError, toRecord } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import { retryDuringOutage } from '../src/platform/outage.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { type Tracing, traced } from '../src/platform/telemetry/tracing.ts';
import {
  type Answer,
  type AnswerStore,
  OWN_ANSWER,
  sharedAnswerRef,
  unitsPaidOf,
} from '../src/results/answer-store.ts';
import { type Backlog, busyError } from './backlog.ts';
import { endCall, type GiveBackDeps, giveBack } from './end-call.ts';
import { identifyCall, type Payload, payloadOf, poolOf, type Reports } from './payload.ts';
import { addJob, BACKGROUND_PRIORITY, type Fairness, type Queues } from './queues.ts';

/** A valid request for a call, before admission. */
export interface CallRequest {
  operation: QueuedOperation;
  /** Canonical input. */
  input: unknown;
  /** The account, and its key if a request makes the call. The account decides which data the call gets; admission checks the key. */
  caller: Caller;
  /** The most units the caller will pay; null: any number. */
  maxUnits: number | null;
  waiting: Waiting;
  /** Runs when the call is admitted or joined, before it is charged or queued. If it fails, an admitted call is released. */
  onAdmitted?: ((call: Admission) => Promise<void>) | undefined;
}

/** Who waits for the answer: a request, a caller that polls the job, or a batch, whose deadline is `batchUntil`. */
type Waiting = 'caller' | 'poller' | { batchUntil: number; callId: string };

/** The outcome of a call request. Units were reserved or charged unless it was joined. */
export type Submission =
  | { kind: 'cached'; accountId: number; callId: string; answer: Answer; units: number; rate: MinuteRate }
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
      /** True if this is the first request that joins a call of a batch. */
      background: boolean;
      answerRef: string | null;
    };

export interface SubmitDeps {
  database: Database;
  reports: Reports;
  admissions: Admissions;
  settlements: Settlements;
  answers: AnswerStore;
  backlog: Pick<Backlog, 'estimateWaitMs'>;
  queues: Queues;
  fairness: Fairness;
  /** The id of this process's completion channel. */
  completionChannel: string;
  providers: Providers;
  clock: ServiceClock;
  events: CallEvents;
  log: Logger;
  tracing?: Tracing | null;
}

type Admitted<Kind> = Extract<Admission, { kind: Kind }>;

/**
 * Admits a call: answers it from the cache, joins it to an identical call of the account, or reserves its units so
 * that it can be queued.
 * @throws SoukError KEY_*, QUOTA_*, BUSY, or VALIDATION_FAILED if a report is not loaded. After any error, nothing is charged, or
 * the charge is refunded as soon as PostgreSQL answers; a call of a batch keeps its id, and is submitted again.
 */
export function submit(deps: SubmitDeps, request: CallRequest): Promise<Submission> {
  const { operation, input, caller, waiting, onAdmitted } = request;
  const { clock } = deps;
  return traced(deps.tracing, { name: `submit ${operation.name}`, kind: 'producer' }, async (span) => {
    requireRightClock(clock);
    const pool = poolOf(caller.accountId, operation, input);
    const identified = await identifyCall(deps, caller.accountId, operation, input);
    const { presentationId, chargeId, cached } = identified;
    const units = cached?.meta.units ?? identified.units;
    checkMaxUnits('The call costs', units, request.maxUnits);
    if (!cached) await refuseWhenBusy(deps, request, pool, chargeId);

    const background = typeof waiting === 'object';
    const deadlineAt = deadlineOf(waiting, pool, clock.now());
    const { admission, unitsReserved, unitsPaid } = await admit(deps, caller.accountId, {
      caller,
      callId: background ? waiting.callId : uuid(),
      operation: operation.name,
      chargeId,
      units,
      pool,
      deadlineAt,
      input,
      // A caller that polls may request the answer after it was lost. Recreating it needs the input, which is
      // stored only for calls that can be jobs. So the units are reserved first, and the call is settled when its
      // answer is stored. What runs before the charge needs a reserved call as well.
      answer:
        cached && waiting !== 'poller' && !onAdmitted
          ? sharedAnswerRef(presentationId, cached.meta.version)
          : null,
      background,
    });
    const { accountId, callId } = admission;
    const call = {
      callId,
      accountId,
      operation: operation.name,
      input,
      unitsReserved,
      unitsPaid,
      deadlineAt,
      background,
    };
    const traceparent = span?.traceparent;
    try {
      await onAdmitted?.(admission);
      const submission =
        admission.kind === 'joined'
          ? await join(deps, request, pool, admission)
          : await begin(deps, request, { pool, admission, call, presentationId, cached, traceparent });
      span?.set({ 'souk.outcome': submission.kind, 'souk.job_id': callId });
      return submission;
    } catch (error) {
      if (admission.kind !== 'joined' && !background) await giveBack(deps, call);
      throw error;
    }
  });
}

/** The most times that an admission is repeated because it finds another identical call with a partial answer. */
const MOST_CONTINUATIONS = 5;

/**
 * Admits a call. If an identical call has a partial answer, this one continues it: its price is what the account has not paid
 * for that answer. @returns the admission, the units reserved for a call that was not joined, and the units paid for that answer.
 */
export async function admit(
  deps: Pick<SubmitDeps, 'admissions' | keyof GiveBackDeps>,
  accountId: number,
  request: AdmissionRequest,
): Promise<{ admission: Admission; unitsReserved: number; unitsPaid: number }> {
  let asked = request;
  for (let attempt = 0; ; attempt += 1) {
    const { callId, units, unitsPaid = 0 } = asked;
    const admission = await admitOnce(deps, accountId, asked);
    const paid = admission.kind === 'joined' && admission.finished ? unitsPaidOf(admission.answer) : null;
    // A repeated admission of a batch's call finds the call itself.
    if (paid === null || admission.callId === callId || attempt === MOST_CONTINUATIONS) {
      noteAdmission(deps, request, admission, units);
      return { admission, unitsReserved: units, unitsPaid };
    }
    asked = {
      ...request,
      callId: request.background ? callId : uuid(),
      units: Math.max(0, request.units - paid),
      continues: admission.callId,
      unitsPaid: paid,
    };
  }
}

function noteAdmission(
  { events }: Pick<SubmitDeps, 'events'>,
  { operation, caller }: AdmissionRequest,
  { kind, accountId, callId }: Admission,
  units: number,
): void {
  if (caller.keyHash) events.emit({ type: 'key.accepted', keyHash: caller.keyHash });
  if (kind === 'cached') events.emit({ type: 'call.cached', operation, accountId, callId, units });
  else events.emit({ type: `call.${kind}`, operation, accountId, callId });
}

/**
 * Admits a call even if the database restarts meanwhile. An admission whose reply was lost may have been committed,
 * so the repetition may join the first attempt. It has an id of its own, because the first call may have failed meanwhile.
 * A call of a batch keeps its id, which the batch has stored. Other attempts whose outcome is unknown are given back, unless the
 * result is their call. Emits the event of a refusal.
 */
async function admitOnce(
  deps: Pick<SubmitDeps, 'admissions' | keyof GiveBackDeps>,
  accountId: number,
  request: AdmissionRequest,
): Promise<Admission> {
  const { admissions, clock, events } = deps;
  const { background, operation } = request;
  const tried: AdmissionRequest[] = [];
  const giveBackAllBut = (admittedId: string | null) =>
    Promise.all(
      (background ? [] : tried).map(async (attempt) => {
        const { callId } = attempt;
        const undecidedMs = callId === admittedId ? null : admissions.undecidedForMs(attempt);
        if (undecidedMs !== null) await giveBack(deps, { accountId, callId, operation }, undecidedMs);
      }),
    );
  try {
    const admission = await retryDuringOutage(clock, () => {
      const asked = tried.length === 0 || background ? request : { ...request, callId: uuid() };
      tried.push(asked);
      return admissions.admit(asked);
    });
    const { kind, callId } = admission;
    void giveBackAllBut(callId);
    const isOwn = kind === 'joined' && tried.some((attempt) => attempt.callId === callId);
    if (!isOwn || (background && admission.finished)) return admission;
    return { kind: request.answer === null ? 'started' : 'cached', accountId, callId, rate: null };
  } catch (error) {
    if (error instanceof SoukError) events.emit({ type: 'call.refused', operation, error: error.kind });
    await giveBackAllBut(null);
    throw error;
  }
}

async function join(
  { database, answers, clock }: SubmitDeps,
  { waiting, input }: CallRequest,
  pool: PoolName,
  { accountId, callId, finished, background, answer: answerRef }: Admitted<'joined'>,
): Promise<Submission> {
  if (waiting === 'poller') {
    await retryDuringOutage(clock, () => notePolled(database, { accountId, callId }, input));
    await answers.keepGiven({ accountId, callId }, answerRef);
  }
  return { kind: 'joined', accountId, callId, pool, finished, background, answerRef };
}

/** Answers an admitted call from the cache, or returns how to queue it. */
async function begin(
  deps: SubmitDeps,
  request: CallRequest,
  {
    pool,
    admission,
    call,
    presentationId,
    cached,
    traceparent,
  }: {
    pool: PoolName;
    admission: Admitted<'started' | 'cached'>;
    call: Parameters<typeof payloadOf>[0];
    presentationId: string;
    cached: Answer | null;
    traceparent: string | undefined;
  },
): Promise<Submission> {
  const { events, completionChannel } = deps;
  const { accountId, callId, operation, unitsReserved } = call;
  const { rate } = admission;
  if (!cached) events.emit({ type: 'answer.miss', operation, accountId });
  else {
    events.emit({ type: 'answer.hit', operation, accountId, tokens: cached.meta.tokens });
    const isDirect = admission.kind === 'cached';
    if (isDirect) deps.answers.keepShared(accountId, presentationId, cached);
    if (isDirect || (await settleAtOnce(deps, call, cached)))
      return { kind: 'cached', accountId, callId, answer: cached, units: unitsReserved, rate };
  }
  const payload = payloadOf(call, { completionChannel, traceparent });
  const queue = () => enqueue(deps, request, pool, payload);
  return { kind: 'started', accountId, callId, pool, rate, enqueue: queue };
}

/** @throws SoukError BUSY. Calls of batches are never refused, because batches are fed only if there is room. */
export async function refuseWhenBusy(
  { backlog, clock, database, fairness }: SubmitDeps,
  { caller, waiting }: CallRequest,
  pool: PoolName,
  chargeId: string,
): Promise<void> {
  const { keyHash } = caller;
  if (typeof waiting === 'object' || !keyHash) return;
  const allowedMs = waiting === 'poller' ? ASYNC_QUEUE_ALLOWANCE_MS : QUEUE_ALLOWANCE_MS;
  const priority = fairness.peek({ pool, waiting, key: nameOf(caller) });
  const busy = busyError(await backlog.estimateWaitMs(pool, priority), allowedMs);
  // A call can join one that is under way or recent even if the pool is busy.
  const acceptedAfter = clock.now() - DEDUPLICATION_SECONDS * 1000;
  if (busy && !(await hasJoinableCall(database, keyHash, chargeId, acceptedAfter))) throw busy;
}

function deadlineOf(waiting: Waiting, pool: PoolName, now: number): number {
  if (typeof waiting === 'object') return waiting.batchUntil;
  const allowanceMs = waiting === 'poller' ? ASYNC_QUEUE_ALLOWANCE_MS : QUEUE_ALLOWANCE_MS;
  return now + POOLS[pool].timeoutMs + allowanceMs;
}

/** Settles a call with a cached answer. @returns false if the answer could not be stored; then the call becomes a job. */
async function settleAtOnce(
  deps: SubmitDeps,
  call: { accountId: number; callId: string; operation: string },
  answer: Answer,
): Promise<boolean> {
  const { answers, clock } = deps;
  try {
    await answers.keep(call);
    await answers.putOwn(call, answer);
  } catch {
    return false;
  }
  await retryDuringOutage(clock, () => endCall(deps, call, { units: answer.meta.units, answer: OWN_ANSWER }));
  return true;
}

async function enqueue(deps: SubmitDeps, { caller, waiting }: CallRequest, pool: PoolName, payload: Payload) {
  const { queues, answers, clock, fairness, events } = deps;
  const { accountId, callId, operation, deadlineAt } = payload;
  try {
    if (waiting === 'poller') await answers.keep(payload);
    const priority =
      typeof waiting === 'object'
        ? BACKGROUND_PRIORITY
        : fairness.take({ pool, waiting, accountId, key: nameOf(caller), callId, deadlineAt });
    await addJob(queues, pool, payload, priority);
  } catch (cause) {
    fairness.end(callId);
    const error = new SoukError('BUSY', {
      message: 'The job queue cannot be reached.',
      retryAfterSeconds: 5,
      cause,
    });
    const release = () => endCall(deps, payload, { error: toRecord(error) });
    const ended = await retryDuringOutage(clock, release).catch(() => null);
    // A caller receives the error only if its call costs nothing. Otherwise the call has ended, because the queue had taken the
    // job although its reply was lost, or it is open, and its job is put back.
    if (ended?.state === 'released') throw error;
    return;
  }
  events.emit({ type: 'call.queued', operation, accountId, callId, pool });
}

function nameOf({ keyHash, accountId }: CallRequest['caller']): string {
  return keyHash ? keyHash.toString('latin1') : String(accountId);
}
