import type { Ended, Settlements } from '../src/billing/settlement.ts';
import type { ErrorRecord } from '../src/platform/errors.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';

/** A settled call has an answer and is charged at most `units`; a released call has an error. */
export type CallOutcome = { units: number; answer: string } | { error: ErrorRecord };

/** Attempts at the job of a call; 0 if the job has not started. */
export interface Attempts {
  /** Unix milliseconds. */
  startedAt: number | null;
  attempts: number;
}

const NOT_STARTED: Attempts = { startedAt: null, attempts: 0 };

/** Settles or releases a call, once: a second ending changes nothing. @returns null if the call does not exist. */
export async function endCall(
  { settlements, events }: { settlements: Settlements; events: CallEvents },
  { accountId, callId, operation }: { accountId: number; callId: string; operation: string },
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
