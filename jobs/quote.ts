import { DEDUPLICATION_SECONDS } from '../src/billing/admission.ts';
import { hasJoinableCall } from '../src/billing/calls.ts';
import type { Source, Wallet } from '../src/billing/wallets.ts';
import { SoukError } from '../src/errors.ts';
import { chargeIdOf } from './identity.ts';
import { type Order, refuseWhenBusy, refuseWhenTooDear, type SubmitDeps } from './submit.ts';

/** What an order would meet if it were submitted now. */
export interface Quote {
  /** What it costs at most; the charge is this or less. */
  units: number;
  /** The account asked the same just now, so at this moment it would cost nothing. */
  deduplicated: boolean;
  verdict:
    | { admitted: true; wallet: Wallet | null; source: Source | null }
    | { admitted: false; error: SoukError };
}

/** Judges an order without consequences. @throws SoukError KEY_*. */
export async function quoteOrder(deps: SubmitDeps, order: Order): Promise<Quote> {
  const { operation, input, caller } = order;
  const units = operation.price.quote(input);
  const chargeId = chargeIdOf(operation, input);
  // The key is judged first, as it would be.
  const prediction = await deps.admissions.predict(caller, units);
  const acceptedAfter = deps.clock.now() - DEDUPLICATION_SECONDS * 1000;
  const deduplicated =
    'keyHash' in caller && (await hasJoinableCall(deps.database, caller.keyHash, chargeId, acceptedAfter));
  try {
    refuseWhenTooDear(units, order.maxUnits);
    if (deduplicated) return { units, deduplicated, verdict: { admitted: true, wallet: null, source: null } };
    await refuseWhenBusy(deps, order, operation.queue(input), chargeId);
  } catch (error) {
    if (!(error instanceof SoukError)) throw error;
    return { units, deduplicated, verdict: { admitted: false, error } };
  }
  return { units, deduplicated, verdict: prediction };
}
