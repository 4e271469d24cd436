import { DEDUPLICATION_SECONDS } from '../src/billing/admission.ts';
import { hasJoinableCall } from '../src/billing/calls.ts';
import type { GrantKind, Wallet } from '../src/billing/wallets.ts';
import { SoukError } from '../src/platform/errors.ts';
import { identifyCall } from './identity.ts';
import { type Order, refuseWhenBusy, refuseWhenTooDear, type SubmitDeps } from './submit.ts';

/** What an order would meet if it were submitted now. */
export interface Quote {
  /** What it costs at most; the charge is this or less. */
  units: number;
  /** The account asked the same just now, so at this moment it would cost nothing. */
  deduplicated: boolean;
  verdict:
    | { admitted: true; wallet: Wallet | null; source: GrantKind | null }
    | { admitted: false; error: SoukError };
}

/** Judges an order without consequences. @throws SoukError KEY_*, or VALIDATION_FAILED when a report is not loaded. */
export async function quoteOrder(deps: SubmitDeps, order: Order): Promise<Quote> {
  const { operation, input, caller } = order;
  const units = operation.price.quote(input);
  const { chargeId, cached } = await identifyCall(deps, operation, input);
  // A cached answer may cost less than the quote, and needs no worker. It may be gone when the call is made, so the quote
  // stays what it is.
  const needed = cached?.meta.units ?? units;
  // The key is judged first, as it would be.
  const prediction = await deps.admissions.predict(caller, needed);
  const acceptedAfter = deps.clock.now() - DEDUPLICATION_SECONDS * 1000;
  const deduplicated =
    'keyHash' in caller && (await hasJoinableCall(deps.database, caller.keyHash, chargeId, acceptedAfter));
  try {
    refuseWhenTooDear(needed, order.maxUnits);
    if (deduplicated) return { units, deduplicated, verdict: { admitted: true, wallet: null, source: null } };
    if (!cached) await refuseWhenBusy(deps, order, operation.queue(input), chargeId);
  } catch (error) {
    if (!(error instanceof SoukError)) throw error;
    return { units, deduplicated, verdict: { admitted: false, error } };
  }
  return { units, deduplicated, verdict: prediction };
}
