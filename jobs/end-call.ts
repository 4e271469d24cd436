import type { Ended, Settlements } from '../src/billing/settlement.ts';
import type { ErrorRecord } from '../src/platform/error-record.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { type AnswerStore, OWN_ANSWER } from '../src/results/answer-store.ts';

/** A settled call has an answer and is charged at most `units`; a released call has an error. */
export type CallOutcome = { units: number; answer: string } | { error: ErrorRecord };

/** Attempts at the job of a call; 0 if the job has not started. */
export interface Attempts {
  /** Unix milliseconds. */
  startedAt: number | null;
  attempts: number;
}

const NOT_STARTED: Attempts = { startedAt: null, attempts: 0 };

interface EndDeps {
  settlements: Settlements;
  events: CallEvents;
}

export interface CallToEnd {
  accountId: number;
  callId: string;
  operation: string;
}

/** Settles or releases a call, once: a second ending changes nothing. @returns null if the call does not exist. */
export async function endCall(
  { settlements, events }: EndDeps,
  { accountId, callId, operation }: CallToEnd,
  outcome: CallOutcome,
  { startedAt, attempts }: Attempts = NOT_STARTED,
): Promise<Ended | null> {
  const nothing = { units: 0, answer: null, error: null };
  const ended = await settlements.end({ accountId, callId, startedAt, attempts, ...nothing, ...outcome });
  if (!ended?.endedNow) return ended;
  const call = { operation, accountId, callId };
  if ('error' in outcome) events.emit({ type: 'call.released', ...call, error: outcome.error.kind });
  else events.emit({ type: 'call.settled', ...call, units: ended.unitsCharged });
  return ended;
}

/**
 * Ends a call whose job has failed: an open call is released. A settled call is refunded if its answer is lost, because the
 * job was to make it again; with its answer it does not change.
 * @returns how the call ended, null if it does not exist, and the error that its callers receive, null if its answer stands.
 */
export async function endFailedCall(
  deps: EndDeps & { answers: Pick<AnswerStore, 'load'> },
  call: CallToEnd,
  error: ErrorRecord,
  attempts?: Attempts,
): Promise<{ ended: Ended | null; error: ErrorRecord | null }> {
  const ended = await endCall(deps, call, { error }, attempts);
  if (ended?.state !== 'settled') return { ended, error };
  if (await deps.answers.load(call.callId, OWN_ANSWER)) return { ended, error: null };
  const refund = refundError(error);
  const units = await deps.settlements.refund(call, refund);
  noteRefund(deps, call, units, error);
  return { ended: { endedNow: units !== null, state: 'released', unitsCharged: 0 }, error: refund };
}

/** Returns the error of a refunded call, which says why it costs nothing any more. */
export function refundError({ message, ...error }: ErrorRecord): ErrorRecord {
  return {
    ...error,
    message: `${message} The answer that was stored for this call is lost, and its units are refunded.`,
  };
}

/** @param units null if the call was not refunded. */
export function noteRefund(
  { events }: Pick<EndDeps, 'events'>,
  { accountId, callId, operation }: CallToEnd,
  units: number | null,
  { kind: error }: ErrorRecord,
): void {
  if (units !== null) events.emit({ type: 'call.refunded', operation, accountId, callId, units, error });
}
