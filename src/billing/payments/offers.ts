import type { Queryable } from '../../platform/db/pool.ts';
import type { OffPeakWindow, Wallet } from '../wallets.ts';

/** The price of a plan for the off-peak wallet, as a share of its full price. */
export const OFF_PEAK_PRICE_SHARE = 0.5;

/** A plan for sale. Prices are in cents per month. */
export interface PlanOffer {
  kind: 'plan';
  id: number;
  code: string;
  name: string;
  minuteLimit: number | null;
  dailyLimit: number | null;
  monthlyLimit: number | null;
  priceCents: number;
  /** Stripe renews it each month until the customer cancels it. Other payment methods sell it by the month. */
  renews: boolean;
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
export async function offeredPlans(database: Queryable): Promise<PlanOffer[]> {
  const { rows } = await database.query<PlanOffer>(`${SELECT_PLANS} order by price_cents, code`);
  return rows;
}

/** Returns the packs for sale, the cheapest first. */
export async function offeredPacks(database: Queryable): Promise<PackOffer[]> {
  const { rows } = await database.query<PackOffer>(`${SELECT_PACKS} order by price_cents, code`);
  return rows;
}

export async function findOffer(
  database: Queryable,
  kind: Offer['kind'],
  code: string,
): Promise<Offer | null> {
  const { rows } = await database.query<Offer>(
    `${kind === 'plan' ? SELECT_PLANS : SELECT_PACKS} and code = $1`,
    [code],
  );
  return rows[0] ?? null;
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

const SELECT_PLANS = `select 'plan' as kind, id, code, name, minute_limit as "minuteLimit", daily_limit as "dailyLimit",
    monthly_limit as "monthlyLimit", price_cents as "priceCents", renews
  from plans where is_offered and price_cents is not null and superseded_at is null`;

const SELECT_PACKS = `select 'pack' as kind, code, name, wallet, own_window as window, units, rate_limit_per_minute as "rateLimitPerMinute",
    valid_days as "validDays", price_cents as "priceCents"
  from pack_offers where is_offered`;
