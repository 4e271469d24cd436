import type { ClientBase } from 'pg';
import type Stripe from 'stripe';
import { v7 as uuid } from 'uuid';
import { lockAccount } from '../../accounts/accounts.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { firstRow } from '../../platform/db/rows.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { findOffer, type PackOffer } from './offers.ts';
import { cancelPurchase, createPurchase, findPurchase, grantPurchase, type Purchase } from './purchases.ts';
import { bestPrice, reductionsFor } from './reductions.ts';
import { customerOf } from './stripe/checkout.ts';
import type { StripeContext } from './stripe/stripe-context.ts';

/** The automatic top-up of an account. */
export interface AutoTopUp extends TopUpRule, MonthSpent {
  accountId: number;
  packCode: string;
  isOn: boolean;
  /** Why Souk has switched it off. */
  stoppedReason: string | null;
  /** The purchase whose payment is under way. */
  purchaseId: string | null;
}

export function findTopUp(database: Queryable, accountId: number) {
  return firstRow<AutoTopUp>(database, `select ${TOP_UP_COLUMNS} from auto_top_ups where account_id = $1`, [
    accountId,
  ]);
}

/** Switches the automatic top-up of an account on, or off. What was spent in the month still counts. */
export async function saveTopUp(
  database: Queryable,
  accountId: number,
  { packCode, thresholdUnits, ceilingCents, isOn }: TopUpRule & { packCode: string; isOn: boolean },
  now: number,
): Promise<void> {
  await database.query(
    `insert into auto_top_ups (account_id, pack_code, threshold_units, ceiling_cents, is_on, checked_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id) do update set pack_code = excluded.pack_code,
       threshold_units = excluded.threshold_units, ceiling_cents = excluded.ceiling_cents, is_on = excluded.is_on,
       stopped_reason = null`,
    [accountId, packCode, thresholdUnits, ceilingCents, isOn, new Date(now)],
  );
}

const TOP_UP_COLUMNS = `account_id as "accountId", pack_code as "packCode", threshold_units as "thresholdUnits",
  ceiling_cents as "ceilingCents", is_on as "isOn", stopped_reason as "stoppedReason", month,
  spent_cents as "spentCents", purchases, purchase_id as "purchaseId"`;

/** What an automatic top-up has bought in a UTC month, such as 2026-03. */
export interface MonthSpent {
  month: string;
  spentCents: number;
  purchases: number;
}

interface TopUpRule {
  thresholdUnits: number;
  ceilingCents: number;
}

/**
 * Returns what an account has spent in the month after one more pack, or null if none is bought: enough units are left, or the
 * ceiling would be exceeded.
 * @param unitsLeft null: unlimited.
 */
export function decideTopUp(
  { thresholdUnits, ceilingCents }: TopUpRule,
  spent: MonthSpent,
  { unitsLeft, priceCents, now }: { unitsLeft: number | null; priceCents: number; now: number },
): MonthSpent | null {
  if (unitsLeft === null || unitsLeft >= thresholdUnits) return null;
  const month = new Date(now).toISOString().slice(0, 7);
  const present = spent.month === month ? spent : { month, spentCents: 0, purchases: 0 };
  const spentCents = present.spentCents + priceCents;
  return priceCents > 0 && spentCents <= ceilingCents
    ? { month, spentCents, purchases: present.purchases + 1 }
    : null;
}

/** Charges the purchase of a top-up, or reads how its payment has ended. Safe to repeat: a purchase has one payment. */
async function chargeTopUp(context: StripeContext, purchaseId: string): Promise<void> {
  const purchase = await findPurchase(context.database, purchaseId);
  if (!purchase) return;
  if (purchase.state === 'granted') return end(context, purchase, null);
  const outcome = await pay(context, purchase);
  if (typeof outcome === 'string') return stop(context, purchase, outcome);
  // Some payments take time; a later round reads them again.
  if (outcome.status === 'processing') return;
  if (outcome.status !== 'succeeded') return stop(context, purchase, 'The payment needs your confirmation.');
  await grantPurchase(context.database, purchase.id, context.now(), outcome.id);
  await end(context, purchase, null);
}

/** @returns the payment, or why it cannot be made. */
async function pay(context: StripeContext, purchase: Purchase): Promise<Stripe.PaymentIntent | string> {
  const stripe = await context.api();
  const customer = await customerOf(context, purchase.accountId);
  // Stripe forgets idempotency keys after a day, so the payment is looked up first.
  const earlier = await stripe.paymentIntents.list({ customer, limit: 100 });
  const known = earlier.data.find(({ metadata }) => metadata.purchase === purchase.id);
  if (known) return known.status === 'requires_payment_method' ? 'The card was declined.' : known;
  if (purchase.state === 'cancelled') return 'The purchase was cancelled.';
  const cards = await stripe.paymentMethods.list({ customer, type: 'card', limit: 1 });
  const card = cards.data[0];
  if (!card) return 'No card is saved.';
  return stripe.paymentIntents
    .create(
      {
        customer,
        amount: purchase.amountCents,
        currency: purchase.currency,
        payment_method: card.id,
        off_session: true,
        confirm: true,
        metadata: { purchase: purchase.id },
        description: `Souk ${purchase.offerName}, automatic top-up`,
      },
      { idempotencyKey: `top-up ${purchase.id}` },
    )
    .catch((error: unknown) => {
      if ((error as { type?: unknown }).type === 'StripeCardError') return 'The card was declined.';
      throw error;
    });
}

async function end({ database }: StripeContext, { id, accountId }: Purchase, reason: string | null) {
  await database.query(
    `update auto_top_ups set purchase_id = null, is_on = is_on and $3::text is null, stopped_reason = coalesce($3, stopped_reason)
     where account_id = $1 and purchase_id = $2`,
    [accountId, id, reason],
  );
}

/** Switches the top-up off, cancels its purchase, and tells the customer. Nothing was charged. */
async function stop(context: StripeContext, purchase: Purchase, reason: string): Promise<void> {
  const { accountId, id, amountCents, currency } = purchase;
  const amount = new Intl.NumberFormat('en', { style: 'currency', currency }).format(amountCents / 100);
  await inTransaction(context.database, async (client) => {
    await cancelPurchase(client, id, context.now());
    const { rowCount } = await client.query(
      `update auto_top_ups set purchase_id = null, is_on = false, stopped_reason = $3,
         spent_cents = greatest(spent_cents - $4, 0)
       where account_id = $1 and purchase_id = $2`,
      [accountId, id, reason, amountCents],
    );
    if (rowCount === 0) return;
    await context.notify(client, accountId, {
      reference: `top-up ${id}`,
      purchase: `${purchase.offerName}, automatic top-up`,
      amount,
      endsAt: null,
    });
  });
}

/**
 * Records the purchase of a pack if an account has few units left and its ceiling allows it. Its price counts from now on, and no
 * other purchase of the top-up starts before it has ended.
 * @returns the id of the purchase whose payment is under way; null if there is none.
 */
export function startTopUp(
  database: Database,
  accountId: number,
  { currency, now }: { currency: string; now: number },
): Promise<string | null> {
  return inTransaction(database, async (client) => {
    await lockAccount(client, accountId);
    const topUp = await firstRow<AutoTopUp>(
      client,
      `select ${TOP_UP_COLUMNS} from auto_top_ups where account_id = $1`,
      [accountId],
    );
    if (!topUp) return null;
    if (topUp.purchaseId !== null) return topUp.purchaseId;
    const pack = await findOffer(client, 'pack', topUp.packCode);
    if (!topUp.isOn || pack?.kind !== 'pack') return null;
    const unitsLeft = await unitsLeftIn(client, accountId, pack, now);
    const discounts = await reductionsFor(client, { accountId, offer: pack, currency }, now);
    const { amountCents } = bestPrice(pack.priceCents, discounts);
    const spent = decideTopUp(topUp, topUp, { unitsLeft, priceCents: amountCents, now });
    if (!spent) return null;
    const purchaseId = uuid();
    const details = { wallet: pack.wallet, quantity: 1, months: 1, currency, provider: 'stripe' } as const;
    const bought = await createPurchase(client, { purchaseId, accountId, offer: pack, ...details }, now);
    if (bought.amountCents > amountCents) throw new Error('a discount has ended during the purchase');
    await client.query(
      `update auto_top_ups set month = $2, spent_cents = $3, purchases = $4, purchase_id = $5 where account_id = $1`,
      [accountId, spent.month, spent.spentCents, spent.purchases, purchaseId],
    );
    return purchaseId;
  });
}

/** The units that the packs and the present subscription of a wallet have left; null: unlimited. */
async function unitsLeftIn(
  client: ClientBase,
  accountId: number,
  { wallet }: PackOffer,
  now: number,
): Promise<number | null> {
  const left = await firstRow<{ packs: number; months: number; isUnlimited: boolean }>(
    client,
    `select
       (select coalesce(sum(remaining_units), 0)::bigint from packs
        where account_id = $1 and wallet = $2 and valid_from <= $3 and valid_until > $3) as packs,
       coalesce(sum(greatest(monthly_limit - month_used, 0)), 0)::bigint as months,
       coalesce(bool_or(monthly_limit is null), false) as "isUnlimited"
     from souk_subscription_meters($1, $3) where wallet = $2`,
    [accountId, wallet, new Date(now)],
  );
  return !left || left.isUnlimited ? null : left.packs + left.months;
}

/** Accounts that are checked in one round, those first that were not checked for the longest time. */
const MOST_AT_ONCE = 100;

/** Buys packs for the accounts whose units are below their threshold. */
export async function runTopUps(context: StripeContext): Promise<void> {
  const { database, now, log } = context;
  const { rows } = await database.query<{ accountId: number }>(
    `update auto_top_ups set checked_at = $1 where account_id in (
       select t.account_id from auto_top_ups t join accounts a on a.id = t.account_id
       where (t.is_on or t.purchase_id is not null) and a.state = 'active'
       order by t.checked_at limit $2 for update of t skip locked)
     returning account_id as "accountId"`,
    [new Date(now()), MOST_AT_ONCE],
  );
  for (const { accountId } of rows)
    await topUp(context, accountId).catch((error: unknown) =>
      log.warn({ err: error, accountId }, 'failed to top up an account'),
    );
}

async function topUp(context: StripeContext, accountId: number): Promise<void> {
  const { database, now, currency } = context;
  const purchaseId = await startTopUp(database, accountId, { currency, now: now() });
  if (purchaseId !== null) await chargeTopUp(context, purchaseId);
}
