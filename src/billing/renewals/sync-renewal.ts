import { inTransaction } from '../../platform/db/transaction.ts';
import { isKnownPlan } from '../grants.ts';
import { findPurchase, type Purchase } from '../payments/purchases.ts';
import type { StripeContext } from '../payments/stripe/stripe-context.ts';
import { syncReversal } from '../reversals/sync-reversal.ts';
import { type Stored, storeRenewal } from './store-renewal.ts';
import { readFacts, type StripeFacts } from './stripe-facts.ts';

/** Each attempt reads Stripe again, because another process has stored the plan meanwhile. */
const ATTEMPTS = 5;

/** Invoices that are read, the newest first. Earlier ones were read when they were new. */
const INVOICES = 24;

/** Reads a renewing plan from Stripe and stores what follows. Any number of calls in any order have the effect of the last one. */
export async function syncRenewal(context: StripeContext, id: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const revision = await revisionOf(context, id);
    const facts = await readRenewal(context, id);
    const purchase = await purchaseOf(context, facts);
    if (!purchase) return;
    const stored = await store(context, purchase, facts, revision);
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

async function revisionOf({ database }: StripeContext, id: string): Promise<number> {
  const { rows } = await database.query<{ revision: number }>(
    'select revision from renewing_plans where id = $1',
    [id],
  );
  return rows[0]?.revision ?? 0;
}

async function readRenewal({ api }: StripeContext, id: string): Promise<StripeFacts> {
  const stripe = await api();
  const subscription = await stripe.subscriptions.retrieve(id);
  const invoices = await stripe.invoices.list({
    ...{ subscription: id, status: 'paid', limit: INVOICES },
    expand: ['data.payments'],
  });
  return readFacts(subscription, invoices.data);
}

/** The Stripe account may have other uses, and other products: their subscriptions are ignored. */
async function purchaseOf({ database, log }: StripeContext, facts: StripeFacts): Promise<Purchase | null> {
  const purchase = facts.purchaseId === null ? null : await findPurchase(database, facts.purchaseId);
  const planIds = [...facts.paid.map(({ planId }) => planId), facts.planId];
  const isKnown = purchase !== null && (await isKnownPlan(database, planIds));
  if (isKnown) return purchase;
  log.warn({ subscription: facts.id }, 'subscription of Stripe for an unknown purchase or plan');
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
        nextAttemptAt: null,
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
