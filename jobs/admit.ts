import { v7 as uuid } from 'uuid';
import type { Admission, Admissions } from '../src/billing/admission.ts';
import type { AdmissionRequest } from '../src/billing/admission-request.ts';
import { SoukError } from '../src/platform/errors.ts';
import { retryDuringOutage } from '../src/platform/retry-during-outage.ts';
import { unitsPaidOf } from '../src/results/answer-store.ts';
import { type GiveBackDeps, giveBackLater } from './give-back.ts';

interface AdmitDeps extends GiveBackDeps {
  admissions: Admissions;
}

/** The most times that an admission is repeated because it finds another identical call with a partial answer. */
const MOST_CONTINUATIONS = 5;

/**
 * Admits a call. If an identical call has a partial answer, this one continues it: its price is what the account has not paid
 * for that answer. @returns the admission, the units reserved for a call that was not joined, and the units paid for that answer.
 */
export async function admit(
  deps: AdmitDeps,
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
  { events }: AdmitDeps,
  { operation, caller }: AdmissionRequest,
  { kind, accountId, callId }: Admission,
  units: number,
): void {
  if ('keyHash' in caller) events.emit({ type: 'key.accepted', keyHash: caller.keyHash });
  if (kind === 'cached') events.emit({ type: 'call.cached', operation, accountId, callId, units });
  else events.emit({ type: `call.${kind}`, operation, accountId, callId });
}

/**
 * Admits a call even if the database restarts meanwhile. An admission whose reply was lost may have been committed,
 * so the repetition may join the first attempt. It has an id of its own, because the first call may have failed meanwhile.
 * A call of a batch keeps its id, which the batch has stored. Other attempts whose outcome is unknown are given back, unless the
 * result is their call. Emits the event of a refusal.
 */
async function admitOnce(deps: AdmitDeps, accountId: number, request: AdmissionRequest): Promise<Admission> {
  const { admissions, clock, events } = deps;
  const { background, operation } = request;
  const tried: AdmissionRequest[] = [];
  let admittedId: string | null = null;
  try {
    const admission = await retryDuringOutage(clock, () => {
      const asked = tried.length === 0 || background ? request : { ...request, callId: uuid() };
      tried.push(asked);
      return admissions.admit(asked);
    });
    const { kind, callId } = admission;
    admittedId = callId;
    const isOwn = kind === 'joined' && tried.some((attempt) => attempt.callId === callId);
    if (!isOwn || (background && admission.finished)) return admission;
    return { kind: request.answer === null ? 'started' : 'cached', accountId, callId, rate: null };
  } catch (error) {
    if (error instanceof SoukError) events.emit({ type: 'call.refused', operation, error: error.kind });
    throw error;
  } finally {
    for (const attempt of background ? [] : tried) {
      const { callId } = attempt;
      const undecidedMs = callId === admittedId ? null : admissions.undecidedForMs(attempt);
      if (undecidedMs !== null) void giveBackLater(deps, { accountId, callId, operation }, undecidedMs);
    }
  }
}
