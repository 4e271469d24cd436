import type { ClientBase } from 'pg';
import type { Queryable } from '../../platform/db/pool.ts';
import { allRows, firstRow, hasRow } from '../../platform/db/rows.ts';
import type { Offer } from './offers.ts';
import { ACCOUNTS_OF_OWNERS } from './purchase-rules.ts';

/** What lowers a price: a percentage, or an amount in cents. */
export interface Reduction {
  id: number;
  /** The code of a coupon; null: a discount, which applies without a code. */
  code: string | null;
  percent: number | null;
  amountCents: number | null;
  /** Of the amount: ISO 4217, lower case. */
  currency: string | null;
  /** The plan or pack; null: all. */
  offerKind: Offer['kind'] | null;
  offerCode: string | null;
  /** The account that has a discount; null: all. */
  accountId: number | null;
  maxUses: number | null;
  oncePerAccount: boolean;
  endsAt: Date;
}

export type NewReduction = Omit<Reduction, 'id'>;

/** A reduction as the operator sees it. */
export interface UsedReduction extends Reduction {
  createdAt: Date;
  /** Purchases that have it: those that are paid, or may still be. */
  uses: number;
}

/** The price of a purchase. Amounts are in cents. */
export interface Price {
  listCents: number;
  amountCents: number;
  /** What has reduced it; null: it is the list price. */
  reduction: Reduction | null;
}

/**
 * Returns a price after a reduction. Fractions of a cent are in favour of the customer, and no price is below 0. The script of the
 * checkout page (`checkout.js`) computes the same.
 */
export function reducedCents(
  listCents: number,
  { percent, amountCents }: Pick<Reduction, 'percent' | 'amountCents'>,
): number {
  if (percent !== null) return Math.floor((listCents * (100 - percent)) / 100);
  return Math.max(0, listCents - (amountCents ?? 0));
}

/** Returns the lowest price. One reduction applies; of equal ones a discount, so that a coupon is not used up. */
export function bestPrice(listCents: number, reductions: readonly Reduction[]): Price {
  let best: Price = { listCents, amountCents: listCents, reduction: null };
  for (const reduction of reductions.toSorted((a, b) => Number(a.code !== null) - Number(b.code !== null))) {
    const amountCents = reducedCents(listCents, reduction);
    if (amountCents < best.amountCents) best = { listCents, amountCents, reduction };
  }
  return best;
}

/** "20 % off", or "$5.00 off". */
export function reductionText({
  percent,
  amountCents,
  currency,
}: Pick<Reduction, 'percent' | 'amountCents' | 'currency'>): string {
  if (percent !== null) return `${percent} % off`;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: currency ?? 'usd' });
  return `${format.format((amountCents ?? 0) / 100)} off`;
}

/** A reduction as a purchase or a renewing plan keeps it. */
export function writtenReduction(reduction: Reduction | null): {
  reduction: string | null;
  reducedUntil: Date | null;
} {
  if (reduction === null) return { reduction: null, reducedUntil: null };
  const { code, endsAt } = reduction;
  const name = code === null ? 'Discount' : `Coupon ${code}`;
  return { reduction: `${name}: ${reductionText(reduction)}`, reducedUntil: endsAt };
}

/** Returns whether a reduction is for an offer. */
export function isFor(
  { offerKind, offerCode }: Reduction,
  { kind, code }: Pick<Offer, 'kind' | 'code'>,
): boolean {
  return offerKind === null || (offerKind === kind && offerCode === code);
}

/** Returns the price of one unit of an offer, in the wallet `general`, with the best of some discounts. */
export function offerPrice(offer: Offer, discounts: readonly Reduction[]): Price {
  return bestPrice(
    offer.priceCents,
    discounts.filter((discount) => isFor(discount, offer)),
  );
}

/** A code that cannot be used. The message is for the customer, and says what to do. */
export class CouponRefused extends Error {}

const COUPON_CODE = /^[A-Z0-9][A-Z0-9-]{2,19}$/;

/** Customers may type a code in any case. @returns null if it cannot be a code. */
export function couponCode(text: string): string | null {
  const code = text.trim().toUpperCase();
  return COUPON_CODE.test(code) ? code : null;
}

/** The discounts that an account has now; null: those of all accounts. */
export function discountsOf(
  database: Queryable,
  { accountId, currency }: { accountId: number | null; currency: string },
  now: number,
) {
  return allRows<Reduction>(
    database,
    `select ${COLUMNS} from price_reductions
     where code is null and ends_at > $1 and (account_id is null or account_id = $2)
       and coalesce(currency, $3) = $3 order by id`,
    [new Date(now), accountId, currency],
  );
}

/** What a customer wants to buy. */
interface Wanted {
  accountId: number;
  offer: Offer;
  currency: string;
  /** As the customer has typed it; absent or empty: none. */
  coupon?: string | undefined;
}

const WITHOUT = 'Remove the code to buy without a coupon.';

/**
 * Returns the reductions that an account may have for an offer: its discounts, and the coupon. Within a transaction the coupon stays
 * locked, so that its purchases are counted one after the other.
 * @throws CouponRefused.
 */
export async function reductionsFor(
  client: Queryable,
  { accountId, offer, currency, coupon = '' }: Wanted,
  now: number,
): Promise<Reduction[]> {
  const discounts = await discountsOf(client, { accountId, currency }, now);
  const found = discounts.filter((discount) => isFor(discount, offer));
  if (coupon.trim() === '') return found;
  if (offer.priceCents === 0)
    throw new CouponRefused(`${offer.name} is free, so it needs no coupon. ${WITHOUT}`);
  return [...found, await couponFor(client, { accountId, offer, currency, coupon }, now)];
}

async function couponFor(
  client: Queryable,
  { accountId, offer, currency, coupon }: Wanted & { coupon: string },
  now: number,
): Promise<Reduction> {
  const code = couponCode(coupon);
  const found = await firstRow<Reduction>(
    client,
    `select ${COLUMNS} from price_reductions where code = $1 and coalesce(currency, $2) = $2 for no key update`,
    [code, currency],
  );
  if (!found) throw new CouponRefused(`This coupon does not exist. Check its spelling. ${WITHOUT}`);
  if (found.endsAt.getTime() <= now)
    throw new CouponRefused(
      `The coupon ${code} ended on ${found.endsAt.toISOString().slice(0, 10)}. Enter another one. ${WITHOUT}`,
    );
  if (!isFor(found, offer))
    throw new CouponRefused(
      `The coupon ${code} is for the ${found.offerKind} ${(await offerName(client, found)) ?? found.offerCode}. Choose that one. ${WITHOUT}`,
    );
  if (found.oncePerAccount) await refuseSecondUse(client, found, accountId);
  if (found.maxUses !== null && (await usesOf(client, found.id, found.maxUses)) >= found.maxUses)
    throw new CouponRefused(`The coupon ${code} has been used up. Enter another one. ${WITHOUT}`);
  return found;
}

/** The accounts of an owner count as one. */
async function refuseSecondUse(client: Queryable, { id, code }: Reduction, accountId: number): Promise<void> {
  const { rows } = await client.query<{ state: string }>(
    `select state from orders where account_id in (${ACCOUNTS_OF_OWNERS}) and reduction_id = $2 and state <> 'cancelled'
     order by state limit 1`,
    [accountId, id],
  );
  const state = rows[0]?.state;
  if (state === 'pending')
    throw new CouponRefused(
      `You use the coupon ${code} in a purchase that is not paid yet. Pay or cancel that one on the page Plans. ${WITHOUT}`,
    );
  if (state)
    throw new CouponRefused(
      `You have used the coupon ${code}, which is valid once. Enter another one. ${WITHOUT}`,
    );
}

async function usesOf(client: Queryable, id: number, most: number): Promise<number> {
  const { rows } = await client.query<{ uses: number }>(
    `select count(*)::int as uses from (
       select 1 from orders where reduction_id = $1 and state <> 'cancelled' limit $2) as used`,
    [id, most],
  );
  return rows[0]?.uses ?? 0;
}

/** @returns null if there is no such plan or pack. */
async function offerName(
  client: Queryable,
  { offerKind, offerCode }: Pick<Reduction, 'offerKind' | 'offerCode'>,
): Promise<string | null> {
  const { rows } = await client.query<{ name: string }>(
    offerKind === 'plan'
      ? 'select name from plans where code = $1 and superseded_at is null'
      : 'select name from pack_offers where code = $1',
    [offerCode],
  );
  return rows[0]?.name ?? null;
}

/** Reductions that run at the same time. */
const MOST_RUNNING = 1_000;

/** Creates a coupon or a discount. @returns why it cannot be created, as a field and its fault. */
export async function createReduction(
  client: ClientBase,
  reduction: NewReduction,
  now: number,
): Promise<UsedReduction | { field: string; fault: string }> {
  const { offerKind, offerCode, accountId } = reduction;
  if (offerKind !== null && (await offerName(client, { offerKind, offerCode })) === null)
    return { field: 'offer', fault: `must be a plan or pack that exists, got ${offerKind} ${offerCode}` };
  if (accountId !== null && !(await hasRow(client, 'select 1 from accounts where id = $1', [accountId])))
    return { field: 'account', fault: `must be the number of an account, got ${accountId}` };
  const { rows: running } = await client.query<{ count: number }>(
    'select count(*)::int as count from price_reductions where ends_at > $1',
    [new Date(now)],
  );
  if ((running[0]?.count ?? 0) >= MOST_RUNNING)
    return {
      field: 'until',
      fault: `cannot be set: ${MOST_RUNNING} coupons and discounts run. End some of them first`,
    };
  const { rows } = await client.query<UsedReduction>(
    `insert into price_reductions (code, percent, amount_cents, currency, offer_kind, offer_code, account_id, max_uses,
       once_per_account, created_at, ends_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (code) do nothing
     returning ${COLUMNS}, created_at as "createdAt", 0 as uses`,
    [
      reduction.code,
      reduction.percent,
      reduction.amountCents,
      reduction.currency,
      offerKind,
      offerCode,
      accountId,
      reduction.maxUses,
      reduction.oncePerAccount,
      new Date(now),
      reduction.endsAt,
    ],
  );
  return rows[0] ?? { field: 'code', fault: 'is already the code of another coupon' };
}

/** Ends a reduction now. Purchases that have it keep it. @returns null if there is no such reduction that runs. */
export function endReduction(database: Queryable, id: number, now: number) {
  return firstRow<UsedReduction>(
    database,
    `update price_reductions r set ends_at = $2 where id = $1 and ends_at > $2 returning ${COLUMNS}, ${USES}`,
    [id, new Date(now)],
  );
}

/** Returns coupons and discounts, those that run first, then the newest first. */
export function listReductions(database: Queryable, now: number) {
  return allRows<UsedReduction>(
    database,
    `select ${COLUMNS}, ${USES} from price_reductions r order by ends_at > $1 desc, id desc limit ${MOST_RUNNING}`,
    [new Date(now)],
  );
}

const KEPT = "interval '400 days'";

/** Deletes reductions that ended long ago. Purchases keep what they have paid, and why. */
export async function purgeReductions(database: Queryable, now: Date): Promise<void> {
  await database.query(`delete from price_reductions where ends_at < $1::timestamptz - ${KEPT}`, [now]);
}

const COLUMNS = `id, code, percent, amount_cents as "amountCents", currency, offer_kind as "offerKind",
  offer_code as "offerCode", account_id as "accountId", max_uses as "maxUses", once_per_account as "oncePerAccount",
  ends_at as "endsAt"`;

const USES = `created_at as "createdAt",
  (select count(*) from orders o where o.reduction_id = r.id and o.state <> 'cancelled') as uses`;
