import { DEDUPLICATION_SECONDS } from '../src/billing/admission.ts';
import { hasJoinableCall } from '../src/billing/calls.ts';
import type { GrantKind, Wallet } from '../src/billing/wallets.ts';
import { SoukError } from '../src/platform/errors.ts';
import { identifyCall } from './identity.ts';
import { type CallRequest, checkMaxUnits, refuseWhenBusy, type SubmitDeps } from './submit.ts';

/** The outcome a call would have if it were submitted now. */
export interface Quote {
  /** What it costs at most; the charge is this or less. */
  units: number;
  /** The account made the same call a moment ago, so that this one would join it and cost nothing. */
  deduplicated: boolean;
  verdict:
    | { admitted: true; wallet: Wallet | null; source: GrantKind | null }
    | { admitted: false; error: SoukError };
}

/** Quotes a call without making it. @throws SoukError KEY_*, or VALIDATION_FAILED when a report is not loaded. */
export async function quoteCall(deps: SubmitDeps, request: CallRequest): Promise<Quote> {
  const { operation, input, caller } = request;
  const units = operation.price.quote(input);
  const { chargeId, cached } = await identifyCall(deps, operation, input);
  // A cached answer may cost less than the quote, and needs no worker. It may be gone when the call is made, so the quote
  // stays the same.
  const needed = cached?.meta.units ?? units;
  // Admission checks the key first, so its error comes first here too.
  const prediction = await deps.admissions.predict(caller, needed);
  const acceptedAfter = deps.clock.now() - DEDUPLICATION_SECONDS * 1000;
  const deduplicated =
    'keyHash' in caller && (await hasJoinableCall(deps.database, caller.keyHash, chargeId, acceptedAfter));
  try {
    checkMaxUnits(needed, request.maxUnits);
    if (deduplicated) return { units, deduplicated, verdict: { admitted: true, wallet: null, source: null } };
    if (!cached) await refuseWhenBusy(deps, request, operation.queue(input), chargeId);
  } catch (error) {
    if (!(error instanceof SoukError)) throw error;
    return { units, deduplicated, verdict: { admitted: false, error } };
  }
  return { units, deduplicated, verdict: prediction };
}
