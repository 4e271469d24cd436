import type Stripe from 'stripe';
import { validate as isUuid } from 'uuid';
import type { Queryable } from '../../platform/db/pool.ts';
import { allRows, firstRow } from '../../platform/db/rows.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS, MINUTE_MS } from '../../platform/durations.ts';
import { isKnownPlan } from '../grants.ts';
import type { Wallet } from '../wallets.ts';
import { findPurchase, type Purchase } from './purchases.ts';
import {
  EXTEND_BEFORE_MS,
  planIdOfProduct,
  type RenewalState,
  type Stored,
  storeRenewal,
} from './renewals.ts';
import { syncReversal } from './reversals.ts';
import type { StripeContext } from './stripe/stripe-context.ts';

/** A paid invoice of a renewing plan and the time that it pays for. Times are Unix milliseconds. */
export interface PaidPeriod {
  invoiceId: string;
  planId: number;
  quantity: number;
  /** What was paid, without taxes, in cents. */
  amountCents: number;
  /** The list price of the month, and what a reduction leaves of it. */
  listCents: number;
  reducedCents: number;
  from: number;
  to: number;
  paymentIntentId: string | null;
}

/** What Stripe's objects say about a renewing plan. */
export interface StripeFacts {
  id: string;
  /** The purchase that created it; null: it was not created by a checkout of this installation. */
  purchaseId: string | null;
  /** unpaid: the last payment has failed. */
  status: 'running' | 'unpaid' | 'ended';
  /** It ends with the period that was paid. */
  isCancelling: boolean;
  /** The plan, quantity and list price in cents that the next invoice will have. */
  planId: number | null;
  quantity: number;
  listCents: number;
  /** What reduces invoices before a time; null: nothing. */
  reduction: { name: string; amountCents: number; until: number } | null;
  paid: PaidPeriod[];
}

/** Reads the facts from a subscription of Stripe and its paid invoices. */
export function readFacts(
  subscription: Stripe.Subscription,
  paidInvoices: readonly Stripe.Invoice[],
): StripeFacts {
  const [item] = subscription.items.data;
  // The Stripe account may have other uses, which may use the same name for another id.
  const { purchase } = subscription.metadata;
  const quantity = item?.quantity ?? 1;
  return {
    id: subscription.id,
    purchaseId: purchase !== undefined && isUuid(purchase) ? purchase : null,
    status: STATUSES[subscription.status] ?? 'running',
    isCancelling: subscription.cancel_at_period_end || subscription.cancel_at !== null,
    planId: planIdOfProduct(idOf(item?.price.product ?? null)),
    quantity,
    listCents: (item?.price.unit_amount ?? 0) * quantity,
    reduction: couponOf(subscription),
    paid: paidInvoices.flatMap((invoice) => paidPeriod(invoice) ?? []),
  };
}

/** The coupon of a subscription and its end. Souk creates only coupons that take an amount off for some months. */
export function couponOf({
  discounts,
}: Stripe.Subscription): { id: string; name: string; amountCents: number; until: number } | null {
  for (const discount of discounts) {
    if (typeof discount === 'string' || discount.end === null) continue;
    const { coupon } = discount.source;
    if (coupon === null || typeof coupon === 'string' || coupon.amount_off === null) continue;
    const { id, name, amount_off: amountCents } = coupon;
    return { id, name: name ?? id, amountCents, until: discount.end * 1000 };
  }
  return null;
}

/** States of a subscription of Stripe that do not renew. */
export const STATUSES: Readonly<Record<string, StripeFacts['status']>> = {
  past_due: 'unpaid',
  unpaid: 'unpaid',
  incomplete: 'unpaid',
  paused: 'unpaid',
  canceled: 'ended',
  incomplete_expired: 'ended',
};

/**
 * The month that an invoice pays for. The invoice of an upgrade has a line that credits the old plan, and a line for the
 * month of the new plan, which is the one that this function returns. A line that is a proration charges or credits a part of a month that was paid before, for example after a change of the
 * quantity in Stripe's dashboard, so it pays for no month.
 */
function paidPeriod(invoice: Stripe.Invoice): PaidPeriod | null {
  const lines = invoice.lines.data.flatMap((line) => {
    const planId = planIdOfProduct(idOf(line.pricing?.price_details?.product ?? null));
    return planId === null || line.amount < 0 || isProration(line) ? [] : [{ ...line, planId }];
  });
  const [line] = lines.sort((a, b) => b.period.end - a.period.end || b.amount - a.amount);
  if (!line || line.period.end <= line.period.start) return null;
  return {
    invoiceId: invoice.id,
    planId: line.planId,
    quantity: line.quantity ?? 1,
    amountCents: Math.max(0, invoice.total_excluding_tax ?? invoice.total),
    listCents: line.amount,
    reducedCents:
      line.amount - (invoice.total_discount_amounts ?? []).reduce((sum, { amount }) => sum + amount, 0),
    from: line.period.start * 1000,
    to: line.period.end * 1000,
    paymentIntentId: paymentIntentOf(invoice),
  };
}

function isProration({ parent }: Stripe.InvoiceLineItem): boolean {
  return (parent?.subscription_item_details ?? parent?.invoice_item_details)?.proration ?? false;
}

/** null for an invoice that was paid without a payment, for example from the customer's balance. */
function paymentIntentOf({ payments }: Stripe.Invoice): string | null {
  const paid = payments?.data.find(({ status }) => status === 'paid') ?? payments?.data[0];
  return idOf(paid?.payment.payment_intent ?? null);
}

/** Returns the id of an object that Stripe returns as its id or, on request, as a whole. */
export function idOf(reference: string | { id: string } | null): string | null {
  return typeof reference === 'string' ? reference : (reference?.id ?? null);
}

/** Each attempt reads Stripe again, because another process has stored the plan meanwhile. */
const ATTEMPTS = 5;

/** Invoices that are read, the newest first. Earlier ones were read when they were new. */
const INVOICES = 24;

/** Reads a renewing plan from Stripe and stores what follows. Any number of calls in any order have the effect of the last one. */
export async function syncRenewal(context: StripeContext, id: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const known = await firstRow<{ revision: number }>(
      context.database,
      'select revision from renewing_plans where id = $1',
      [id],
    );
    const facts = await readRenewal(context, id);
    const purchase = await purchaseOf(context, facts);
    if (!purchase) return;
    const stored = await store(context, purchase, facts, known?.revision ?? 0);
    if (stored.kind === 'stale') continue;
    if (stored.kind === 'nothing') return;
    if (stored.changes.isOverdue) await endAtStripe(context, id);
    // A refund can be reported before the payment.
    for (const { paymentIntentId } of stored.changes.grants)
      if (paymentIntentId !== null) await syncReversal(context, paymentIntentId);
    return;
  }
  throw new Error(`The renewing plan ${id} changed during each of ${ATTEMPTS} attempts to store it`);
}

async function readRenewal({ api }: StripeContext, id: string): Promise<StripeFacts> {
  const stripe = await api();
  const subscription = await stripe.subscriptions.retrieve(id, { expand: ['discounts.source.coupon'] });
  const invoices = await stripe.invoices.list({
    subscription: id,
    status: 'paid',
    limit: INVOICES,
    expand: ['data.payments'],
  });
  return readFacts(subscription, invoices.data);
}

/** The Stripe account may have other uses, and other products: their subscriptions are ignored. */
async function purchaseOf({ database, log }: StripeContext, facts: StripeFacts): Promise<Purchase | null> {
  const purchase = facts.purchaseId === null ? null : await findPurchase(database, facts.purchaseId);
  const planIds = [...facts.paid.map(({ planId }) => planId), facts.planId];
  if (purchase === null || !(await isKnownPlan(database, planIds))) {
    log.warn({ subscription: facts.id }, 'subscription of Stripe for an unknown purchase or plan');
    return null;
  }
  const first = facts.paid.toSorted((a, b) => a.from - b.from)[0];
  if (purchase.state === 'granted' || !first || first.reducedCents === purchase.amountCents) return purchase;
  log.error(
    { subscription: facts.id, purchaseId: purchase.id },
    'amount of the payment differs from the purchase',
  );
  return null;
}

function store(
  { database, now, graceMs, notify }: StripeContext,
  purchase: Purchase,
  facts: StripeFacts,
  revision: number,
): Promise<Stored> {
  return inTransaction(database, async (client) => {
    const stored = await storeRenewal(client, purchase, facts, { revision, now: now(), graceMs });
    if (stored.kind !== 'stored') return stored;
    const { before, changes } = stored;
    const { accountId, currency } = purchase;
    if (changes.state === 'past_due' && before !== 'past_due')
      await notify(client, accountId, {
        reference: `${facts.id} ${changes.periodEnd}`,
        purchase: `${purchase.offerName}, one month`,
        amount: new Intl.NumberFormat('en', { style: 'currency', currency }).format(
          changes.amountCents / 100,
        ),
        endsAt: new Date(changes.graceUntil ?? changes.periodEnd).toISOString(),
      });
    return stored;
  });
}

/** Ends a plan whose time of grace is over, so that Stripe charges no more for it. */
async function endAtStripe({ api, log }: StripeContext, id: string): Promise<void> {
  const stripe = await api();
  const open = await stripe.invoices.list({ subscription: id, status: 'open', limit: 10 });
  for (const invoice of open.data) await stripe.invoices.voidInvoice(invoice.id);
  await stripe.subscriptions.cancel(id);
  log.info({ subscription: id }, 'ended a plan whose payment failed');
}

/** A renewing plan of an account, as it was last read from Stripe. Amounts are in cents. */
export interface RenewingPlan {
  /** The id of Stripe's subscription. */
  id: string;
  accountId: number;
  wallet: Wallet;
  state: RenewalState;
  planName: string;
  planCode: string;
  planId: number;
  /** The list price of the month that was paid last, at the present quantity. Later changes of the plan's price do not change it. */
  listCents: number;
  /** The plan of the next month, if a change is planned. */
  nextPlanName: string | null;
  quantity: number;
  /** The price of the next month. */
  amountCents: number;
  /** What reduces it, in months that begin before a time. */
  reduction: string | null;
  reducedUntil: Date | null;
  currency: string;
  periodEnd: Date;
  graceUntil: Date | null;
}

/** Returns the renewing plans of an account, the newest first. Those that have ended come last. */
export function renewingPlansOf(database: Queryable, accountId: number) {
  return allRows<RenewingPlan>(
    database,
    `select r.id, r.account_id as "accountId", r.wallet, r.state, p.name as "planName", p.code as "planCode",
       p.id as "planId", coalesce(r.list_cents, r.amount_cents) as "listCents", n.name as "nextPlanName", r.quantity,
       r.amount_cents as "amountCents", r.reduction, r.reduced_until as "reducedUntil", o.currency,
       r.period_end as "periodEnd", r.grace_until as "graceUntil"
     from renewing_plans r
     join plans p on p.id = r.plan_id
     left join plans n on n.id = r.next_plan_id
     join orders o on o.id = r.purchase_id
     where r.account_id = $1 order by r.state = 'ended', r.period_end desc limit 20`,
    [accountId],
  );
}

/** Plans that are read in one round. */
const MOST_AT_ONCE = 50;

/** A plan whose month has ended is read this often until its payment is reported; others once a day. */
const AGAIN_MS = 10 * MINUTE_MS;

/**
 * Reads plans from Stripe again whose month ends or has ended, and plans that were not read for a day, because events can be
 * lost. A plan that cannot be read is tried again later.
 */
export async function reconcileRenewals(context: StripeContext): Promise<void> {
  const { log } = context;
  for (const id of await claimDue(context))
    await syncRenewal(context, id).catch((error: unknown) =>
      log.warn({ err: error, subscription: id }, 'failed to read a renewing plan from Stripe'),
    );
}

async function claimDue({ database, now }: StripeContext): Promise<string[]> {
  const at = now();
  const { rows } = await database.query<{ id: string }>(
    `update renewing_plans set seen_at = $1 where id in (
       select id from renewing_plans
       where state <> 'ended' and (seen_at <= $2 or (seen_at <= $3 and period_end <= $4))
       order by seen_at limit $5 for update skip locked)
     returning id`,
    [
      new Date(at),
      new Date(at - DAY_MS),
      new Date(at - AGAIN_MS),
      new Date(at + EXTEND_BEFORE_MS),
      MOST_AT_ONCE,
    ],
  );
  return rows.map(({ id }) => id);
}
