import type Stripe from 'stripe';
import { findAccount } from '../../../accounts/accounts.ts';
import { monthsAfter } from '../../../platform/calendar.ts';
import { allRows } from '../../../platform/db/rows.ts';
import { DAY_MS } from '../../../platform/durations.ts';
import type { PaymentDocument, PaymentStep, ReturnAddresses } from '../payment-port.ts';
import { PurchaseRefused } from '../purchase-rules.ts';
import { noteProviderRef, type Purchase } from '../purchases.ts';
import { productOfPlan } from '../renewals.ts';
import { STATUSES, syncRenewal } from '../sync-renewal.ts';
import type { StripeContext } from './stripe-context.ts';

/**
 * Creates a page of Stripe on which the customer pays a purchase, or agrees to a plan that renews. Of the pages for such plans in one
 * wallet, the last one can be paid.
 * @throws PurchaseRefused
 */
export async function beginCheckout(
  context: StripeContext,
  purchase: Purchase,
  { paid, cancelled }: ReturnAddresses,
): Promise<PaymentStep> {
  const stripe = await context.api();
  if (purchase.renews) await endEarlierCheckouts(context, stripe, purchase);
  const customer = await customerOf(context, purchase.accountId);
  const session = await stripe.checkout.sessions.create(
    {
      customer,
      client_reference_id: purchase.id,
      success_url: paid,
      cancel_url: cancelled,
      ...(context.hasAutomaticTax && {
        automatic_tax: { enabled: true },
        // Stripe computes taxes from the address that the customer enters.
        customer_update: { address: 'auto', name: 'auto' },
      }),
      ...(purchase.renews ? await renewing(stripe, purchase) : once(purchase)),
    },
    // With this idempotency key, a repeated request creates no second session.
    { idempotencyKey: purchase.id },
  );
  if (!session.url) throw new Error('Stripe returned a checkout session without a URL');
  if (!(await noteProviderRef(context.database, purchase.id, session.id))) {
    await endCheckout(stripe, session.id);
    throw new PurchaseRefused('This purchase was cancelled, or a later one has replaced it.');
  }
  return { kind: 'redirect', url: session.url };
}

/** Cancels the earlier unpaid purchases of renewing plans in the same wallet, whose pages could be paid beside this one's. */
async function endEarlierCheckouts(
  context: StripeContext,
  stripe: Stripe,
  { id, accountId, wallet, createdAt }: Purchase,
): Promise<void> {
  const { database, now } = context;
  // A cancelled purchase keeps its reference until its page is known to have ended, so that a failed attempt is repeated.
  const earlier = await allRows<{ id: string; ref: string | null }>(
    database,
    `update orders set state = 'cancelled', ended_at = coalesce(ended_at, $4)
     where account_id = $1 and wallet = $2 and (created_at, id) < ($6, $3) and created_at > $5 and renews and provider = 'stripe'
       and (state = 'pending' or state = 'cancelled' and provider_ref is not null)
     returning id, provider_ref as ref`,
    [accountId, wallet, id, new Date(now()), new Date(now() - PAGE_LASTS_MS), createdAt],
  );
  for (const purchase of earlier) {
    if (purchase.ref === null) continue;
    const agreedId = await endCheckout(stripe, purchase.ref);
    if (agreedId !== null) {
      await syncRenewal(context, agreedId);
      throw new PurchaseRefused(
        'Another plan for this wallet was just paid. Change that plan instead, or let it end first.',
      );
    }
    await database.query('update orders set provider_ref = null where id = $1', [purchase.id]);
  }
}

/** How long a page of Stripe's checkout can be paid, unless it is ended before. */
const PAGE_LASTS_MS = DAY_MS;

/** Ends a page unless the customer has agreed to its plan. @returns the id of Stripe's subscription if the customer has. */
async function endCheckout(stripe: Stripe, sessionId: string): Promise<string | null> {
  const { status, subscription } = await stripe.checkout.sessions.retrieve(sessionId, {
    expand: ['subscription'],
  });
  if (status === 'open') await stripe.checkout.sessions.expire(sessionId);
  if (subscription === null || typeof subscription === 'string') return null;
  return STATUSES[subscription.status] === 'ended' ? null : subscription.id;
}

type SessionParts = Pick<
  Stripe.Checkout.SessionCreateParams,
  'mode' | 'line_items' | 'payment_intent_data' | 'subscription_data' | 'discounts'
>;

function once(purchase: Purchase): SessionParts {
  return {
    mode: 'payment',
    payment_intent_data: { metadata: { purchase: purchase.id } },
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: purchase.currency,
          unit_amount: purchase.amountCents,
          product_data: {
            name: describe(purchase),
            ...(purchase.reduction !== null && { description: reductionLine(purchase) }),
          },
        },
      },
    ],
  };
}

/** "List price $149.00. Coupon SPRING20: 20 % off." */
function reductionLine({ listCents, reduction, currency }: Purchase): string {
  const list = new Intl.NumberFormat('en', { style: 'currency', currency }).format(listCents / 100);
  return `List price ${list}. ${reduction}.`;
}

async function renewing(stripe: Stripe, purchase: Purchase): Promise<SessionParts> {
  const { id, currency, listCents, quantity, createdAt, planId } = purchase;
  const price = { currency, unitCents: listCents / quantity };
  const plan = { id: planId ?? 0, name: purchase.offerName };
  const coupon = await createCoupon(stripe, { ...purchase, from: createdAt, id: `souk-${id}` });
  return {
    mode: 'subscription',
    subscription_data: { metadata: { purchase: id } },
    line_items: [{ quantity, price_data: await monthlyPrice(stripe, plan, price) }],
    ...(coupon !== null && { discounts: [{ coupon }] }),
  };
}

/** A monthly price and what reduces it. Amounts are in cents. */
export interface MonthlyTerms {
  listCents: number;
  amountCents: number;
  reduction: string | null;
  reducedUntil: Date | null;
}

/**
 * Creates a coupon of Stripe, which reduces the months that begin before the end of a reduction; later ones cost the list price.
 * @param terms.from the start of the first month. @param terms.appliedAt when Stripe begins to count the months of the coupon; default:
 * then. @param terms.id makes a repeated request create no second coupon.
 * @returns its id; null if no month is reduced.
 */
export async function createCoupon(
  stripe: Stripe,
  terms: MonthlyTerms & { currency: string; from: Date; appliedAt?: Date; id?: string },
): Promise<string | null> {
  const { listCents, amountCents, reduction, reducedUntil, currency, from, appliedAt = from, id } = terms;
  const months = reducedUntil === null ? 0 : couponMonths(appliedAt, from, reducedUntil);
  if (reduction === null || months === 0) return null;
  const coupon = {
    ...(id !== undefined && { id }),
    name: reduction.slice(0, COUPON_NAME_LENGTH),
    amount_off: listCents - amountCents,
    currency,
    duration: 'repeating' as const,
    duration_in_months: months,
  };
  const created = await stripe.coupons.create(coupon).catch((error: unknown) => {
    if (id === undefined || (error as { code?: string }).code !== 'resource_already_exists') throw error;
    return { id };
  });
  return created.id;
}

const COUPON_NAME_LENGTH = 40;

/**
 * Returns how many months a coupon lasts that reduces the months which follow each other from a time on and begin before another one.
 * @param appliedAt when it begins: up to a month before the first of them.
 */
export function couponMonths(appliedAt: Date, from: Date, until: Date): number {
  let reduced = 0;
  while (monthsAfter(from, reduced) < until) reduced += 1;
  if (reduced === 0) return 0;
  // Months differ in length, so as many of them can end before the last of those begins.
  const last = monthsAfter(from, reduced - 1);
  let months = reduced;
  while (monthsAfter(appliedAt, months) <= last) months += 1;
  return months;
}

/** Returns the monthly price of a plan. Stripe's product of the plan is created with the first price. */
export async function monthlyPrice(
  stripe: Stripe,
  plan: { id: number; name: string },
  { currency, unitCents }: { currency: string; unitCents: number },
) {
  const product = productOfPlan(plan.id);
  await stripe.products.create({ id: product, name: `Souk ${plan.name}` }).catch((error: unknown) => {
    if ((error as { code?: string }).code !== 'resource_already_exists') throw error;
  });
  return { currency, product, unit_amount: unitCents, recurring: { interval: 'month' } } as const;
}

function describe({ offerName, quantity, months, wallet }: Purchase): string {
  const times = quantity > 1 ? ` × ${quantity}` : '';
  const period = months ? `, ${months} ${months === 1 ? 'month' : 'months'}` : '';
  return `Souk ${offerName}${times}${period}${wallet === 'off_peak' ? ', off-peak' : ''}`;
}

/** Returns the id of the account's customer at Stripe. It is created once and kept. */
export async function customerOf(context: StripeContext, accountId: number): Promise<string> {
  const known = await knownCustomer(context, accountId);
  if (known !== null) return known;
  const { database, api } = context;
  const account = await findAccount(database, accountId);
  if (!account) throw new Error(`The account ${accountId} does not exist`);
  const { email, name } = account;
  const stripe = await api();
  const created = await stripe.customers.create(
    { email, name, metadata: { account: String(accountId) } },
    // With this idempotency key, two requests at the same time create one customer.
    { idempotencyKey: `customer ${accountId} ${email}`.slice(0, 255) },
  );
  await database.query(
    'insert into stripe_customers (account_id, customer_id) values ($1, $2) on conflict (account_id) do nothing',
    [accountId, created.id],
  );
  return (await knownCustomer(context, accountId)) ?? created.id;
}

/** @returns null if the account has never paid through Stripe. */
export async function knownCustomer(
  { database }: Pick<StripeContext, 'database'>,
  accountId: number,
): Promise<string | null> {
  const { rows } = await database.query<{ customerId: string }>(
    'select customer_id as "customerId" from stripe_customers where account_id = $1',
    [accountId],
  );
  return rows[0]?.customerId ?? null;
}

const MOST = 50;

/** Returns the invoices of an account's renewing plans and the receipts of its payments, the newest first. */
export async function listDocuments(context: StripeContext, accountId: number): Promise<PaymentDocument[]> {
  const customer = await knownCustomer(context, accountId);
  if (customer === null) return [];
  const stripe = await context.api();
  const [invoices, charges] = await Promise.all([
    stripe.invoices.list({ customer, limit: MOST }),
    stripe.charges.list({ customer, limit: MOST }),
  ]);
  const documents: (PaymentDocument | null)[] = [
    ...invoices.data.map(({ created, total, currency, status, hosted_invoice_url: url }) =>
      url ? { kind: 'invoice' as const, ...facts(created, total, currency), state: status ?? '', url } : null,
    ),
    ...charges.data.map(({ created, amount, currency, status, receipt_url: url }) =>
      url ? { kind: 'receipt' as const, ...facts(created, amount, currency), state: status, url } : null,
    ),
  ];
  return documents.filter((one) => one !== null).sort((a, b) => b.at.getTime() - a.at.getTime());
}

function facts(created: number, amountCents: number, currency: string) {
  return { at: new Date(created * 1000), amountCents, currency };
}

/** Returns the address of Stripe's customer portal, where the customer saves and changes cards. */
export async function portalAddress(
  context: StripeContext,
  accountId: number,
  returnTo: string,
): Promise<string> {
  const customer = await customerOf(context, accountId);
  const stripe = await context.api();
  return (await stripe.billingPortal.sessions.create({ customer, return_url: returnTo })).url;
}
