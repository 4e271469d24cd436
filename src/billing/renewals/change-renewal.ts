import { type PlanOffer, planCents } from '../payments/offers.ts';
import { monthlyPrice } from '../payments/stripe/checkout.ts';
import type { StripeContext } from '../payments/stripe/stripe-context.ts';
import type { RenewingPlan } from './renewing-plans.ts';
import { syncRenewal } from './sync-renewal.ts';

/** Ends a renewing plan with the month that was paid, or takes that back. */
export async function setCancelled(
  context: StripeContext,
  { id }: RenewingPlan,
  isCancelled: boolean,
): Promise<void> {
  const stripe = await context.api();
  const { cancel_at: cancelAt } = await stripe.subscriptions.retrieve(id);
  // The customer portal can set a time instead. Stripe accepts one of the two fields.
  const change =
    !isCancelled && cancelAt !== null ? { cancel_at: '' as const } : { cancel_at_period_end: isCancelled };
  await stripe.subscriptions.update(id, change);
  await syncRenewal(context, id);
}

/** Returns whether a change takes effect at once, and not with the next month. */
export function isUpgrade(plan: RenewingPlan, offer: PlanOffer): boolean {
  return offer.priceCents > plan.priceCents;
}

/**
 * Changes the plan. A dearer plan starts a new month at once: Stripe charges its price less the unused time of the present
 * month. A cheaper plan, or the present one again, starts with the next month.
 */
export async function changePlan(
  context: StripeContext,
  plan: RenewingPlan,
  offer: PlanOffer,
): Promise<void> {
  // A planned change has changed the price at Stripe, by which the unused time would be computed.
  if (isUpgrade(plan, offer) && plan.nextPlanName !== null)
    await setPrice(context, plan, { ...plan, id: plan.planId, name: plan.planName }, NEXT_MONTH);
  await setPrice(context, plan, offer, isUpgrade(plan, offer) ? AT_ONCE : NEXT_MONTH);
  await syncRenewal(context, plan.id);
}

const NEXT_MONTH = { proration_behavior: 'none' } as const;

/** Nothing changes if the payment fails. */
const AT_ONCE = {
  billing_cycle_anchor: { type: 'now' },
  proration_behavior: 'always_invoice',
  payment_behavior: 'error_if_incomplete',
} as const;

async function setPrice(
  { api }: StripeContext,
  { id, wallet, currency, quantity }: RenewingPlan,
  plan: { id: number; name: string; priceCents: number },
  when: typeof NEXT_MONTH | typeof AT_ONCE,
): Promise<void> {
  const stripe = await api();
  const { items } = await stripe.subscriptions.retrieve(id);
  const unitCents = planCents(plan, wallet);
  const price = await monthlyPrice(stripe, plan, { currency, unitCents });
  await stripe.subscriptions.update(id, {
    items: [{ id: items.data[0]?.id ?? '', quantity, price_data: price }],
    ...when,
  });
}
