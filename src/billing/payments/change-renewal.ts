import { type PlanOffer, planCents } from './offers.ts';
import { bestPrice, reductionsFor, writtenReduction } from './reductions.ts';
import { createCoupon, type MonthlyTerms, monthlyPrice } from './stripe/checkout.ts';
import type { StripeContext } from './stripe/stripe-context.ts';
import { type RenewingPlan, syncRenewal } from './sync-renewal.ts';

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

/** Returns whether a change takes effect immediately, and not with the next month. */
export function isUpgrade(plan: RenewingPlan, offer: PlanOffer): boolean {
  return offer.id !== plan.planId && listOf(plan, offer) > plan.listCents;
}

function listOf({ wallet, quantity }: RenewingPlan, offer: PlanOffer): number {
  return planCents(offer, wallet) * quantity;
}

/**
 * Changes the plan. A dearer plan starts a new month immediately: Stripe charges its price less the unused time of the present
 * month. A cheaper plan, or the present one again, starts with the next month. Another plan has its present list price and the best
 * discount of the account; the present one keeps the price at which it was bought.
 */
export async function changePlan(
  context: StripeContext,
  plan: RenewingPlan,
  offer: PlanOffer,
): Promise<void> {
  const present = { id: plan.planId, name: plan.planName };
  const isPresent = offer.id === plan.planId;
  // A planned change has changed the price at Stripe, by which the unused time would be computed.
  if (isPresent || (isUpgrade(plan, offer) && plan.nextPlanName !== null))
    await setPrice(context, plan, present, await boughtTerms(context, plan), NEXT_MONTH);
  if (!isPresent) {
    const now = context.now();
    const { accountId, currency } = plan;
    const reductions = await reductionsFor(context.database, { accountId, offer, currency }, now);
    const { reduction, ...price } = bestPrice(listOf(plan, offer), reductions);
    const terms = { ...price, ...writtenReduction(reduction) };
    await setPrice(context, plan, offer, terms, isUpgrade(plan, offer) ? AT_ONCE : NEXT_MONTH);
  }
  await syncRenewal(context, plan.id);
}

/** The terms on which the present plan was bought. After a change of the plan, only its list price is known. */
async function boughtTerms({ database }: StripeContext, plan: RenewingPlan): Promise<MonthlyTerms> {
  const { rows } = await database.query<MonthlyTerms>(
    `select o.list_cents as "listCents", o.amount_cents as "amountCents", o.reduction, o.reduced_until as "reducedUntil"
     from orders o join renewing_plans r on r.purchase_id = o.id
     where r.id = $1 and o.plan_id = r.plan_id and o.list_cents = r.list_cents`,
    [plan.id],
  );
  const { listCents } = plan;
  return rows[0] ?? { listCents, amountCents: listCents, reduction: null, reducedUntil: null };
}

const NEXT_MONTH = { proration_behavior: 'none' } as const;

/** Nothing changes if the payment fails. */
const AT_ONCE = {
  billing_cycle_anchor: { type: 'now' },
  proration_behavior: 'always_invoice',
  payment_behavior: 'error_if_incomplete',
} as const;

async function setPrice(
  { api, now }: StripeContext,
  { id, currency, quantity, periodEnd }: RenewingPlan,
  plan: { id: number; name: string },
  terms: MonthlyTerms,
  when: typeof NEXT_MONTH | typeof AT_ONCE,
): Promise<void> {
  const stripe = await api();
  const { items } = await stripe.subscriptions.retrieve(id);
  const price = await monthlyPrice(stripe, plan, { currency, unitCents: terms.listCents / quantity });
  const from = when === AT_ONCE ? new Date(now()) : periodEnd;
  const coupon = await createCoupon(stripe, { ...terms, currency, from });
  await stripe.subscriptions.update(id, {
    items: [{ id: items.data[0]?.id ?? '', quantity, price_data: price }],
    discounts: coupon === null ? '' : [{ coupon }],
    ...when,
  });
}
