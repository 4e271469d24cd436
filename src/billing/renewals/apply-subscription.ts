import type { PaidPeriod, StripeFacts } from './stripe-facts.ts';

/**
 * active: it renews. past_due: a payment has failed, and the time of grace runs. cancelling: it ends with the month that was
 * paid.
 */
export type RenewalState = 'active' | 'past_due' | 'cancelling' | 'ended';

/** A renewing plan as it follows from Stripe's objects and the time. Times are Unix milliseconds. */
export interface RenewalChanges {
  state: RenewalState;
  /** The plan of the month that was paid last. */
  planId: number;
  /** The plan of the next month, if it is another one. */
  nextPlanId: number | null;
  quantity: number;
  amountCents: number;
  periodStart: number;
  periodEnd: number;
  graceUntil: number | null;
  /** Paid invoices that have granted nothing yet, the earliest month first. */
  grants: PaidPeriod[];
  /** The invoice whose month was paid last. */
  lastInvoiceId: string;
  /** The last month lasts until the end of grace, because Stripe has not reported the next payment. */
  isExtended: boolean;
  /** The time of grace is over: the plan has to end at Stripe too. */
  isOverdue: boolean;
}

/** Stripe charges about an hour after a month has ended. The last month is extended this long before its end, in several attempts. */
export const EXTEND_BEFORE_MS = 30 * 60_000;

/**
 * Returns what a renewing plan is now, and which invoices still have to be granted.
 * @param granted ids of the invoices that have granted their month.
 * @returns null if nothing was ever paid.
 */
export function applySubscription(
  granted: ReadonlySet<string>,
  facts: StripeFacts,
  { now, graceMs }: { now: number; graceMs: number },
): RenewalChanges | null {
  const paid = facts.paid.toSorted((a, b) => a.from - b.from || a.to - b.to);
  const last = paid.at(-1);
  if (!last) return null;
  const graceUntil = last.to + graceMs;
  const isOverdue = facts.status === 'unpaid' && now >= graceUntil;
  const state = isOverdue ? 'ended' : stateOf(facts);
  const renews = state === 'active' || state === 'past_due';
  return {
    state,
    planId: last.planId,
    nextPlanId: renews && facts.planId !== last.planId ? facts.planId : null,
    quantity: facts.quantity,
    amountCents: facts.amountCents,
    periodStart: last.from,
    periodEnd: last.to,
    graceUntil: state === 'past_due' ? graceUntil : null,
    grants: paid.filter(({ invoiceId }) => !granted.has(invoiceId)),
    lastInvoiceId: last.invoiceId,
    isExtended: isOverdue || (renews && now >= last.to - EXTEND_BEFORE_MS),
    isOverdue,
  };
}

function stateOf({ status, isCancelling }: StripeFacts): RenewalState {
  if (status === 'ended') return 'ended';
  if (status === 'unpaid') return 'past_due';
  return isCancelling ? 'cancelling' : 'active';
}
