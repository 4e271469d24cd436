import type { Queryable } from '../../platform/db/pool.ts';
import { allRows, firstRow, hasRow } from '../../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../../platform/db/transaction.ts';
import { PLAN_COLUMNS, type StoredPlan } from '../grants.ts';
import type { OffPeakWindow, Wallet } from '../wallets.ts';

/** The price of a plan for the off-peak wallet, as a share of its full price. */
export const OFF_PEAK_PRICE_SHARE = 0.5;

/** A plan for sale. Prices are in cents per month. */
export interface PlanOffer extends StoredPlan {
  kind: 'plan';
  priceCents: number;
}

/** A pack for sale. Its price is in cents. */
export interface PackOffer {
  kind: 'pack';
  code: string;
  name: string;
  wallet: Wallet;
  /** The hours of an off-peak pack; null: those of the service. */
  window: OffPeakWindow | null;
  units: number;
  rateLimitPerMinute: number;
  validDays: number;
  priceCents: number;
}

export type Offer = PlanOffer | PackOffer;

/** Returns the plans for sale, the cheapest first. */
export function offeredPlans(database: Queryable) {
  return allRows<PlanOffer>(database, `${SELECT_PLANS} order by price_cents, code`);
}

/** Returns the packs for sale, the cheapest first. */
export function offeredPacks(database: Queryable) {
  return allRows<PackOffer>(database, `${SELECT_PACKS} order by price_cents, code`);
}

export function findOffer(database: Queryable, kind: Offer['kind'], code: string) {
  return firstRow<Offer>(database, `${kind === 'plan' ? SELECT_PLANS : SELECT_PACKS} and code = $1`, [code]);
}

/** Returns the price of an offer in cents. */
export function amountOf(
  offer: Offer,
  { wallet, quantity, months }: { wallet: Wallet; quantity: number; months: number },
): number {
  if (offer.kind === 'pack') return offer.priceCents * quantity;
  return planCents(offer, wallet) * quantity * months;
}

/** Returns the price of a plan per month for a wallet, in cents. */
export function planCents({ priceCents }: { priceCents: number }, wallet: Wallet): number {
  return Math.round(priceCents * (wallet === 'off_peak' ? OFF_PEAK_PRICE_SHARE : 1));
}

const SELECT_PLANS = `select 'plan' as kind, id, ${PLAN_COLUMNS}
  from plans where is_offered and price_cents is not null and superseded_at is null`;

const PACK_COLUMNS = `code, name, wallet, own_window as window, units, rate_limit_per_minute as "rateLimitPerMinute",
  valid_days as "validDays", price_cents as "priceCents"`;

const SELECT_PACKS = `select 'pack' as kind, ${PACK_COLUMNS} from pack_offers where is_offered`;

/** A plan as the operator sees it. */
export interface OperatorPlan extends Omit<StoredPlan, 'id'> {
  isOffered: boolean;
  /** Number of subscriptions that run now, including those with superseded limits. */
  running: number;
}

/** A pack as the operator sees it. */
export interface OperatorPack extends Omit<PackOffer, 'kind'> {
  isOffered: boolean;
}

/** Returns all plans, for sale or not, the cheapest first. */
export function listAllPlans(database: Queryable, now: number) {
  return allRows<OperatorPlan>(
    database,
    `select ${PLAN_COLUMNS}, is_offered as "isOffered",
       (select count(*) from subscriptions s join plans any_of on any_of.id = s.plan_id
        where any_of.code = p.code and s.starts_at <= $1 and s.ends_at > $1) as running
     from plans p where p.superseded_at is null order by p.price_cents nulls last, p.code`,
    [new Date(now)],
  );
}

/** Returns all packs, for sale or not, the cheapest first. */
export function listAllPacks(database: Queryable) {
  return allRows<OperatorPack>(
    database,
    `select ${PACK_COLUMNS}, is_offered as "isOffered" from pack_offers order by price_cents, code`,
  );
}

/**
 * Creates a plan, or changes what is sold from now on. Existing subscriptions keep the limits they were sold with.
 * @returns false if the plan should be new, but the code exists.
 */
export function savePlan(
  database: Transactable,
  plan: Omit<OperatorPlan, 'running'>,
  { isNew, now }: { isNew: boolean; now: number },
): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const { code, name, minuteLimit, dailyLimit, monthlyLimit, priceCents, isOffered, renews } = plan;
    const present = await firstRow<{ id: number; same: boolean }>(
      client,
      // Whether a subscription was free shows at its plan, so a free plan and a paid one are two rows.
      `select id, (name, minute_limit, daily_limit, monthly_limit, coalesce(price_cents = 0, false))
         is not distinct from ($2::text, $3::integer, $4::bigint, $5::bigint, coalesce($6::integer = 0, false)) as same
       from plans where code = $1 and superseded_at is null for update`,
      [code, name, minuteLimit, dailyLimit, monthlyLimit, priceCents],
    );
    if (present && isNew) return false;
    if (present?.same) {
      await client.query('update plans set price_cents = $2, is_offered = $3, renews = $4 where id = $1', [
        present.id,
        priceCents,
        isOffered,
        renews,
      ]);
      return true;
    }
    if (present)
      await client.query('update plans set superseded_at = $2, is_offered = false where id = $1', [
        present.id,
        new Date(now),
      ]);
    return hasRow(
      client,
      `insert into plans (code, name, minute_limit, daily_limit, monthly_limit, price_cents, is_offered, renews)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (code) where superseded_at is null do nothing`,
      [code, name, minuteLimit, dailyLimit, monthlyLimit, priceCents, isOffered, renews],
    );
  });
}

/**
 * Creates a pack for sale, or changes it. Existing packs and purchases keep the values they were sold with.
 * @returns false if the pack should be new, but the code exists.
 */
export function savePack(database: Queryable, pack: OperatorPack, isNew: boolean) {
  const change = isNew
    ? 'nothing'
    : `update set name = excluded.name, wallet = excluded.wallet, units = excluded.units,
         rate_limit_per_minute = excluded.rate_limit_per_minute, valid_days = excluded.valid_days,
         price_cents = excluded.price_cents, is_offered = excluded.is_offered, own_window = excluded.own_window`;
  return hasRow(
    database,
    `insert into pack_offers (code, name, wallet, units, rate_limit_per_minute, valid_days, price_cents, is_offered,
       own_window)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (code) do ${change}`,
    [
      pack.code,
      pack.name,
      pack.wallet,
      pack.units,
      pack.rateLimitPerMinute,
      pack.validDays,
      pack.priceCents,
      pack.isOffered,
      pack.window,
    ],
  );
}
