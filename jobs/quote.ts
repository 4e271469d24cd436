import { checkMaxUnits, DEDUPLICATION_SECONDS } from '../src/billing/admission.ts';
import { hasJoinableCall } from '../src/billing/calls.ts';
import type { GrantKind, Wallet } from '../src/billing/wallets.ts';
import { requireRightClock } from '../src/platform/db/pool.ts';
import { SoukError } from '../src/platform/errors.ts';
import { identifyCall, poolOf } from './payload.ts';
import { type CallRequest, refuseWhenBusy, type SubmitDeps } from './submit.ts';

/** The outcome of a call if it were submitted now. */
export interface Quote {
  /** The highest possible charge. */
  units: number;
  /** True if the call would join a recent identical call of the account, and cost nothing. */
  deduplicated: boolean;
  verdict:
    | { admitted: true; wallet: Wallet | null; source: GrantKind | null }
    | { admitted: false; error: SoukError };
}

/** Quotes a call without submitting it. @throws SoukError KEY_*, or VALIDATION_FAILED if a report is not loaded. */
export async function quoteCall(deps: SubmitDeps, request: CallRequest): Promise<Quote> {
  const { operation, input, caller } = request;
  const { chargeId, cached, units } = await identifyCall(deps, caller.accountId, operation, input);
  // A cached answer may cost less than the quote, and needs no worker. It may have expired when the call is
  // submitted, so it does not lower the quote.
  const needed = cached?.meta.units ?? units;
  // Admission checks the key first, so the quote does the same and reports the same error.
  const prediction = await deps.admissions.predict(caller, needed);
  const acceptedAfter = deps.clock.now() - DEDUPLICATION_SECONDS * 1000;
  const deduplicated =
    caller.keyHash !== undefined &&
    (await hasJoinableCall(deps.database, caller.keyHash, chargeId, acceptedAfter));
  try {
    requireRightClock(deps.clock);
    checkMaxUnits('The call costs', needed, request.maxUnits);
    if (deduplicated) return { units, deduplicated, verdict: { admitted: true, wallet: null, source: null } };
    if (!cached) await refuseWhenBusy(deps, request, poolOf(caller.accountId, operation, input), chargeId);
  } catch (error) {
    if (!(error instanceof SoukError)) throw error;
    return { units, deduplicated, verdict: { admitted: false, error } };
  }
  return { units, deduplicated, verdict: prediction };
}
