import type { ClientBase } from 'pg';
import { lockAccount } from '../../accounts/accounts.ts';
import { monthsAfter } from '../../platform/calendar.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { allRows, firstRow, only, onlyRow } from '../../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../../platform/db/transaction.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { grantPack, grantSubscription, startSubscription } from '../grants.ts';
import type { OffPeakWindow, Wallet } from '../wallets.ts';
import { amountOf, type Offer } from './offers.ts';
import {
  PurchaseRefused,
  refuseBesideOthers,
  refuseBesideRenewal,
  refuseManyUnfinished,
  refuseRenewalBeforeErasure,
  refuseSecondFreeOne,
  UNFINISHED_KEPT_DAYS,
} from './purchase-rules.ts';
import { bestPrice, reductionsFor, writtenReduction } from './reductions.ts';

export type ProviderName = 'demo' | 'manual' | 'stripe';

/** A purchase. Amounts are in cents. */
export interface Purchase {
  id: string;
  accountId: number;
  kind: Offer['kind'];
  offerCode: string;
  offerName: string;
  wallet: Wallet;
  quantity: number;
  /** null for a pack. */
  months: number | null;
  /** Stripe renews the plan. */
  renews: boolean;
  /** What is paid. */
  amountCents: number;
  listCents: number;
  /** What has reduced the price, such as "Coupon SPRING20: 20 % off"; null: nothing. */
  reduction: string | null;
  /** Months of a renewing plan that begin before this time have the reduction. */
  reducedUntil: Date | null;
  currency: string;
  provider: ProviderName;
  providerRef: string | null;
  /** pending: not paid or not confirmed yet. */
  state: 'pending' | 'granted' | 'cancelled';
  createdAt: Date;
  endedAt: Date | null;
  /** The plan that it grants, as it was offered when the purchase was created; null for a pack. */
  planId: number | null;
  subscriptionId: number | null;
  packId: number | null;
}

export interface NewPurchase {
  /** Chosen by the buyer's form. A repeated id is the same purchase. */
  purchaseId: string;
  accountId: number;
  offer: Offer;
  wallet: Wallet;
  quantity: number;
  months: number;
  currency: string;
  provider: ProviderName;
  /** The code of a coupon, as the customer has typed it. */
  coupon?: string | undefined;
}

/** The highest amount that Stripe accepts in one payment. */
const LARGEST_AMOUNT_CENTS = 99_999_999;

/**
 * Records a purchase with its price, which never changes; nothing is granted yet. The best of the account's discounts and the coupon
 * reduces the price.
 * @returns the purchase; the earlier one if its id exists.
 * @throws PurchaseRefused or CouponRefused.
 */
export function createPurchase(
  database: Transactable,
  purchase: NewPurchase,
  now: number,
): Promise<Purchase> {
  return inTransaction(database, async (client) => {
    const { purchaseId, accountId, offer, quantity, currency, provider } = purchase;
    const wallet = offer.kind === 'pack' ? offer.wallet : purchase.wallet;
    await lockAccount(client, accountId);
    const earlier = await findPurchase(client, purchaseId);
    if (earlier?.accountId === accountId) return earlier;
    if (earlier) throw new PurchaseRefused('This purchase belongs to another account.');
    const isRenewing = isRenewed(offer, provider);
    const terms = { wallet, quantity, months: isRenewing ? 1 : purchase.months };
    const { listCents, amountCents, reduction } = bestPrice(
      amountOf(offer, terms),
      await reductionsFor(client, purchase, now),
    );
    const written = writtenReduction(reduction);
    // A purchase without a payment has nothing that the provider could renew.
    const renews = isRenewing && amountCents > 0;
    const months = offer.kind === 'pack' ? null : terms.months;
    if (listCents > LARGEST_AMOUNT_CENTS)
      throw new PurchaseRefused(
        'The amount exceeds the limit of one payment. Split it into several purchases.',
      );
    await refuseManyUnfinished(client, accountId);
    if (amountCents === 0) await refuseSecondFreeOne(client, accountId, offer, purchase);
    if (listCents === 0 && offer.kind === 'plan')
      await refuseBesideOthers(client, { accountId, wallet, name: offer.name }, now);
    if (offer.kind === 'plan') await refuseBesideRenewal(client, { accountId, wallet, renews }, now);
    if (renews) await refuseRenewalBeforeErasure(client, accountId);
    return onlyRow<Purchase>(
      client,
      `insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, months, amount_cents,
         currency, provider, created_at, plan_id, pack_units, pack_rate_limit_per_minute, pack_valid_days,
         pack_window, renews, list_cents, reduction, reduced_until, reduction_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) returning ${PURCHASE_COLUMNS}`,
      [
        purchaseId,
        accountId,
        offer.kind,
        offer.code,
        offer.name,
        wallet,
        quantity,
        months,
        amountCents,
        currency,
        provider,
        new Date(now),
        ...(offer.kind === 'plan'
          ? [offer.id, null, null, null, null]
          : [null, offer.units, offer.rateLimitPerMinute, offer.validDays, offer.window]),
        renews,
        reduction && listCents,
        written.reduction,
        written.reducedUntil,
        reduction?.id ?? null,
      ],
    );
  });
}

/** Returns whether a provider renews an offer at its list price. */
export function isRenewed(offer: Offer, provider: ProviderName): boolean {
  return offer.kind === 'plan' && offer.renews && offer.priceCents > 0 && provider === 'stripe';
}

/**
 * Grants what was purchased, once, even if the payment is reported several times.
 * @param paymentIntentId of the payment through Stripe, by which refunds find the grant.
 * @returns the purchase as it is now, or null if it does not exist.
 */
export function grantPurchase(
  database: Transactable,
  purchaseId: string,
  now: number,
  paymentIntentId: string | null = null,
): Promise<Purchase | null> {
  return inTransaction(database, async (client) => {
    const { rows } = await client.query<Purchase>(
      `select ${PURCHASE_COLUMNS} from orders where id = $1 for update`,
      [purchaseId],
    );
    const purchase = rows[0];
    // A payment that arrives after the purchase was cancelled is still granted, because the customer has paid.
    if (!purchase || purchase.state === 'granted') return purchase ?? null;
    // A free purchase has no payment, so it stays cancelled.
    if (purchase.state === 'cancelled' && purchase.amountCents === 0) return purchase;
    const [subscriptionId, packId] =
      purchase.planId !== null
        ? [await grantPlan(client, purchase, purchase.planId, now), null]
        : [null, await grantPackOf(client, purchase, now)];
    const { rows: granted } = await client.query<Purchase>(
      `update orders set state = 'granted', ended_at = $2, subscription_id = $3, pack_id = $4 where id = $1
       returning ${PURCHASE_COLUMNS}`,
      [purchase.id, new Date(now), subscriptionId, packId],
    );
    if (paymentIntentId !== null)
      await client.query(
        `insert into stripe_payments (id, payment_intent_id, account_id, purchase_id, subscription_id, pack_id, ends_at, at, amount_cents)
         values ($1, $1, $2, $3, $4, $5, (select ends_at from subscriptions where id = $4), $6, $7)`,
        [
          paymentIntentId,
          purchase.accountId,
          purchase.id,
          subscriptionId,
          packId,
          new Date(now),
          purchase.amountCents,
        ],
      );
    return only(granted);
  });
}

/** @returns the purchase, or null if it was not pending. */
export function cancelPurchase(
  database: Queryable,
  purchaseId: string,
  now: number,
  accountId: number | null = null,
) {
  return firstRow<Purchase>(
    database,
    `update orders set state = 'cancelled', ended_at = $2
     where id = $1 and state = 'pending' and ($3::bigint is null or account_id = $3) returning ${PURCHASE_COLUMNS}`,
    [purchaseId, new Date(now), accountId],
  );
}

/**
 * Deletes purchases that were cancelled long ago, and those that were never paid. A pending purchase that the operator has to
 * confirm stays.
 */
export async function purgePurchases(database: Queryable, now: number): Promise<void> {
  await database.query(
    `delete from orders o where o.created_at < $1
       and (o.state = 'cancelled' and o.ended_at < $1 or o.state = 'pending' and o.provider <> 'manual')
       and not exists (select 1 from auto_top_ups t where t.purchase_id = o.id)`,
    [new Date(now - UNFINISHED_KEPT_DAYS * DAY_MS)],
  );
}

/** Stores the id that the provider gave to a purchase. @returns false if it is no longer pending. */
export async function noteProviderRef(
  database: Queryable,
  purchaseId: string,
  ref: string,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `update orders set provider_ref = $2 where id = $1 and state = 'pending'`,
    [purchaseId, ref],
  );
  return rowCount === 1;
}

export function findPurchase(database: Queryable, purchaseId: string) {
  return firstRow<Purchase>(database, `select ${PURCHASE_COLUMNS} from orders where id = $1`, [purchaseId]);
}

/** Lists the purchases of an account, the newest first. */
export function listPurchases(database: Queryable, accountId: number, limit: number) {
  return allRows<Purchase>(
    database,
    `select ${PURCHASE_COLUMNS} from orders where account_id = $1 order by created_at desc, id desc limit $2`,
    [accountId, limit],
  );
}

async function grantPlan(
  client: ClientBase,
  { accountId, wallet, quantity, months, listCents }: Purchase,
  planId: number,
  now: number,
): Promise<number> {
  // A wallet has one subscription at a time, so a new one starts when the present one ends. A paid plan ends a free one.
  const startsAt = await startSubscription(client, { accountId, wallet, isPaid: listCents > 0 }, now);
  const endsAt = monthsAfter(startsAt, months ?? 1);
  return grantSubscription(client, { accountId, wallet, planId, quantity, startsAt, endsAt });
}

async function grantPackOf(client: ClientBase, purchase: Purchase, now: number): Promise<number> {
  const { accountId, wallet, quantity } = purchase;
  const { rows } = await client.query<{
    units: number;
    rate: number;
    days: number;
    window: OffPeakWindow | null;
  }>(
    `select pack_units as units, pack_rate_limit_per_minute as rate, pack_valid_days as days,
       pack_window as window
     from orders where id = $1`,
    [purchase.id],
  );
  const { units, rate, days, window } = only(rows);
  const [validFrom, validUntil] = [new Date(now), new Date(now + days * DAY_MS)];
  const grant = {
    accountId,
    wallet,
    units: units * quantity,
    rateLimitPerMinute: rate,
    validFrom,
    validUntil,
    window,
  };
  return grantPack(client, grant, now);
}

const PURCHASE_COLUMNS = `id, account_id as "accountId", kind, offer_code as "offerCode", offer_name as "offerName", wallet,
  quantity, months, renews, amount_cents as "amountCents", coalesce(list_cents, amount_cents) as "listCents", reduction,
  reduced_until as "reducedUntil", currency, provider, provider_ref as "providerRef", state,
  created_at as "createdAt", ended_at as "endedAt", plan_id as "planId", subscription_id as "subscriptionId", pack_id as "packId"`;

export interface PurchaseWithAccount extends Purchase {
  email: string;
}

/** Lists purchases of all accounts, the newest first: those with a pending payment, or those that ended. */
export function purchasesWithAccounts(
  database: Queryable,
  /** `before`: the last purchase of the previous page. */
  { pending, before, limit }: { pending: boolean; before: string | null; limit: number },
) {
  return allRows<PurchaseWithAccount>(
    database,
    `select coalesce((select email from account_owners o where o.account_id = orders.account_id), 'account ' || account_id) as email, ${PURCHASE_COLUMNS} from orders
     where (state = 'pending') = $1
       and ($2::uuid is null or (created_at, id) < (select created_at, id from orders where id = $2))
     order by created_at desc, id desc limit $3`,
    [pending, before, limit],
  );
}
