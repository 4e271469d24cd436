import type Stripe from 'stripe';
import { type PlanOffer, planCents } from './offers.ts';
import { bestPrice, reductionsFor, writtenReduction } from './reductions.ts';
import { productOfPlan } from './renewals.ts';
import { createCoupon, type MonthlyTerms, monthlyPrice } from './stripe/checkout.ts';
import type { StripeContext } from './stripe/stripe-context.ts';
import { couponOf, idOf, type RenewingPlan, syncRenewal } from './sync-renewal.ts';

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

/** Returns whether a change would have no effect, because the plan is cancelled and so has no next month. */
export function hasNoEffect(plan: RenewingPlan, offer: PlanOffer): boolean {
  return plan.state === 'cancelling' && !isUpgrade(plan, offer);
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
  if (offer.id === plan.planId) await keepPresent(context, plan);
  else if (isUpgrade(plan, offer)) await upgrade(context, plan, offer);
  else await setPrice(context, plan, offer, await presentTerms(context, plan, offer), NEXT_MONTH);
  await syncRenewal(context, plan.id);
}

async function keepPresent(context: StripeContext, plan: RenewingPlan): Promise<void> {
  const present = { id: plan.planId, name: plan.planName };
  await setPrice(context, plan, present, await boughtTerms(context, plan), NEXT_MONTH);
}

/** If the payment fails, a change that was planned for the next month stays planned. */
async function upgrade(context: StripeContext, plan: RenewingPlan, offer: PlanOffer): Promise<void> {
  const terms = await presentTerms(context, plan, offer);
  const stripe = await context.api();
  const before = await stripe.subscriptions.retrieve(plan.id, { expand: ['discounts.source.coupon'] });
  // A planned change has changed the price at Stripe, by which the unused time would be computed.
  const hasPlannedChange = !hasProductOf(before, plan);
  if (hasPlannedChange) await keepPresent(context, plan);
  try {
    await setPrice(context, plan, offer, terms, AT_ONCE);
  } catch (error) {
    if (hasPlannedChange)
      await planAgain(stripe, plan, before).catch((cause: unknown) =>
        context.log.error({ err: cause, subscription: plan.id }, 'failed to restore a planned change'),
      );
    throw error;
  }
}

function hasProductOf({ items }: Stripe.Subscription, { planId }: RenewingPlan): boolean {
  return idOf(items.data[0]?.price.product ?? null) === productOfPlan(planId);
}

/** Gives a subscription the price and the discount that it had before, from the next month on. */
async function planAgain(stripe: Stripe, plan: RenewingPlan, before: Stripe.Subscription): Promise<void> {
  const [item] = before.items.data;
  // Stripe may have changed the plan although its answer was lost.
  if (!item || !hasProductOf(await stripe.subscriptions.retrieve(plan.id), plan)) return;
  const { currency, product, unit_amount: cents } = item.price;
  const coupon = couponOf(before);
  const price = { currency, product: idOf(product) ?? '', unit_amount: cents ?? 0 };
  await stripe.subscriptions.update(plan.id, {
    items: [
      {
        id: item.id,
        quantity: item.quantity ?? 1,
        price_data: { ...price, recurring: { interval: 'month' } },
      },
    ],
    discounts: coupon === null ? '' : [{ coupon: coupon.id }],
    ...NEXT_MONTH,
  });
}

/** The present price of a plan, with the best discount of the account. */
async function presentTerms(
  { database, now }: StripeContext,
  plan: RenewingPlan,
  offer: PlanOffer,
): Promise<MonthlyTerms> {
  const { accountId, currency } = plan;
  const reductions = await reductionsFor(database, { accountId, offer, currency }, now());
  const { reduction, ...price } = bestPrice(listOf(plan, offer), reductions);
  return { ...price, ...writtenReduction(reduction) };
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
  const appliedAt = new Date(now());
  const from = when === AT_ONCE ? appliedAt : periodEnd;
  const coupon = await createCoupon(stripe, { ...terms, currency, from, appliedAt });
  await stripe.subscriptions.update(id, {
    items: [{ id: items.data[0]?.id ?? '', quantity, price_data: price }],
    discounts: coupon === null ? '' : [{ coupon }],
    ...when,
  });
}
