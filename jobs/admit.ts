import { v7 as uuid } from 'uuid';
import type { Admission, Admissions } from '../src/billing/admission.ts';
import type { AdmissionRequest } from '../src/billing/admission-request.ts';
import type { Clock } from '../src/platform/clock.ts';
import { SoukError } from '../src/platform/errors.ts';
import { retryDuringOutage } from '../src/platform/retry-during-outage.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { unitsPaidOf } from '../src/results/answer-store.ts';

interface AdmitDeps {
  admissions: Admissions;
  clock: Clock;
  events: CallEvents;
}

/** The most times that an admission is repeated because it finds another identical call with a partial answer. */
const MOST_CONTINUATIONS = 5;

/**
 * Admits a call. If an identical call has a partial answer, this one continues it: its price is what the account has not paid
 * for that answer. @returns the admission, and the units reserved for a call that was not joined.
 */
export async function admit(
  deps: AdmitDeps,
  request: AdmissionRequest,
): Promise<{ admission: Admission; unitsReserved: number }> {
  let asked = request;
  for (let attempt = 0; ; attempt += 1) {
    const { callId, units } = asked;
    const admission = await admitOnce(deps, asked);
    const paid = admission.kind === 'joined' && admission.finished ? unitsPaidOf(admission.answer) : null;
    // A repeated admission of a batch's call finds the call itself.
    if (paid === null || admission.callId === callId || attempt === MOST_CONTINUATIONS) {
      noteAdmission(deps, request, admission, units);
      return { admission, unitsReserved: units };
    }
    asked = {
      ...request,
      callId: request.background ? callId : uuid(),
      units: Math.max(0, request.units - paid),
      continues: admission.callId,
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
 * A call of a batch keeps its id, which the batch has stored. Emits the event of a refusal.
 */
async function admitOnce(
  { admissions, clock, events }: AdmitDeps,
  request: AdmissionRequest,
): Promise<Admission> {
  const { background } = request;
  const tried: string[] = [];
  let admission: Admission;
  try {
    admission = await retryDuringOutage(clock, () => {
      const asked = tried.length === 0 || background ? request : { ...request, callId: uuid() };
      tried.push(asked.callId);
      return admissions.admit(asked);
    });
  } catch (error) {
    if (error instanceof SoukError)
      events.emit({ type: 'call.refused', operation: request.operation, error: error.kind });
    throw error;
  }
  const { accountId, callId } = admission;
  if (admission.kind !== 'joined' || !tried.includes(callId) || (background && admission.finished))
    return admission;
  const { stored } = admission;
  return request.answer === null
    ? { kind: 'started', accountId, callId, rate: null, stored }
    : { kind: 'cached', accountId, callId, rate: null };
}
