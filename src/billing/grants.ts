import type { ClientBase } from 'pg';
import { lockAccount } from '../accounts/accounts.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow } from '../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import type { OffPeakWindow, Wallet } from './wallets.ts';

/** A limit of null means unlimited. */
export interface Plan {
  code: string;
  name: string;
  /** Calls per minute. */
  minuteLimit: number | null;
  /** Units per day and per month. */
  dailyLimit: number | null;
  monthlyLimit: number | null;
}

export interface StoredPlan extends Plan {
  id: number;
  /** Cents per month; null: the plan is not for sale, and only operators grant it. */
  priceCents: number | null;
  /** Stripe renews it each month until the customer cancels it. Other payment methods sell it by the month. */
  renews: boolean;
}

export interface SubscriptionGrant {
  accountId: number;
  wallet: Wallet;
  planId: number;
  /** Multiplies the limits of the plan. */
  quantity: number;
  startsAt: Date;
  endsAt: Date;
  /** The number of monthly windows. Default: the whole months from start to end. */
  months?: number;
}

export interface PackGrant {
  accountId: number;
  wallet: Wallet;
  units: number;
  rateLimitPerMinute: number;
  validFrom: Date;
  validUntil: Date;
  /** The window of an off-peak pack that is sold with its own hours. Default: the window of the service. */
  window?: OffPeakWindow | null;
}

/** A grant with invalid values, or one that overlaps another. The message is for the operator who requested it. */
export class GrantRefused extends Error {}

/** Creates a plan, or updates the one with this code, also for accounts that have it. @returns its id. */
export async function upsertPlan(database: Database, plan: Plan): Promise<number> {
  const { rows } = await database.query<{ id: number }>(
    `insert into plans (code, name, minute_limit, daily_limit, monthly_limit) values ($1, $2, $3, $4, $5)
     on conflict (code) where superseded_at is null do update set name = excluded.name, minute_limit = excluded.minute_limit,
       daily_limit = excluded.daily_limit, monthly_limit = excluded.monthly_limit
     returning id`,
    [plan.code, plan.name, plan.minuteLimit, plan.dailyLimit, plan.monthlyLimit],
  );
  return rows[0]?.id ?? 0;
}

export function listPlans(database: Database) {
  return allRows<StoredPlan>(database, `${SELECT_PLANS} where superseded_at is null order by code`);
}

export function findPlan(database: Queryable, code: string) {
  return firstRow<StoredPlan>(database, `${SELECT_PLANS} where code = $1 and superseded_at is null`, [code]);
}

/** Returns whether all of some ids are those of plans; null is ignored. */
export async function isKnownPlan(database: Queryable, ids: readonly (number | null)[]): Promise<boolean> {
  const wanted = [...new Set(ids.filter((id) => id !== null))];
  const { rowCount } = await database.query('select 1 from plans where id = any($1)', [wanted]);
  return rowCount === wanted.length;
}

/**
 * Grants a subscription to an account.
 * @returns its id.
 * @throws GrantRefused if it overlaps another of the same wallet, because a call could draw on either of them.
 */
export function grantSubscription(database: Transactable, grant: SubscriptionGrant): Promise<number> {
  return inTransaction(database, async (client) => {
    const { accountId, wallet, planId, quantity, startsAt, endsAt, months = null } = grant;
    if (endsAt <= startsAt) throw new GrantRefused('The end of a subscription must be after its start.');
    // The lock makes concurrent grants run one after the other, so that the second sees the first.
    await lockAccount(client, accountId);
    const { rows: overlapping } = await client.query<{ id: number; startsAt: Date; endsAt: Date }>(
      `select id, starts_at as "startsAt", ends_at as "endsAt" from subscriptions
     where account_id = $1 and wallet = $2 and starts_at < $4 and ends_at > $3 order by starts_at limit 1`,
      [accountId, wallet, startsAt, endsAt],
    );
    if (overlapping[0]) {
      const { id, startsAt: from, endsAt: to } = overlapping[0];
      throw new GrantRefused(
        `The account has a subscription in the wallet ${wallet} from ${from.toISOString()} to ` +
          `${to.toISOString()} (number ${id}); the new one would overlap it.`,
      );
    }
    const { rows } = await client.query<{ id: number }>(
      `insert into subscriptions (account_id, wallet, plan_id, quantity, starts_at, ends_at, months)
     values ($1, $2, $3, $4, $5, $6, $7) returning id`,
      [accountId, wallet, planId, quantity, startsAt, endsAt, months],
    );
    return rows[0]?.id ?? 0;
  });
}

/** A subscription of an account that runs, or waits for the end of an earlier one of its wallet. */
export interface SubscriptionTime {
  id: number;
  wallet: Wallet;
  planName: string;
  quantity: number;
  startsAt: Date;
  endsAt: Date;
}

/** Returns the subscriptions of an account that have not ended, the earliest first. */
export function subscriptionTimes(database: Queryable, accountId: number, now: number) {
  return allRows<SubscriptionTime>(
    database,
    `select s.id, s.wallet, p.name as "planName", s.quantity, s.starts_at as "startsAt", s.ends_at as "endsAt"
     from subscriptions s join plans p on p.id = s.plan_id
     where s.account_id = $1 and s.ends_at > $2 order by s.starts_at, s.id`,
    [accountId, new Date(now)],
  );
}

/** A subscription that is to be granted. */
interface NextSubscription {
  accountId: number;
  wallet: Wallet;
  /** Ends a free plan that runs. */
  isPaid: boolean;
  /** Unix milliseconds. Default: now. */
  from?: number;
}

/**
 * Returns the time at which a new subscription of this wallet can start: `from`, or the end of the last one. A paid one does not
 * wait for a free plan that runs.
 */
export async function nextSubscriptionStart(
  client: Queryable,
  { accountId, wallet, isPaid, from }: NextSubscription,
  now: number,
): Promise<Date> {
  const start = new Date(from ?? now);
  const { rows } = await client.query<{ startsAt: Date }>(
    `select greatest($3, max(case
       when $4 and p.price_cents = 0 and s.starts_at <= $5 then s.starts_at + interval '1 millisecond'
       else s.ends_at end)) as "startsAt"
     from subscriptions s join plans p on p.id = s.plan_id
     where s.account_id = $1 and s.wallet = $2 and s.ends_at > $3`,
    [accountId, wallet, start, isPaid, new Date(now)],
  );
  return rows[0]?.startsAt ?? start;
}

/**
 * Returns the time at which a new subscription starts, within the caller's transaction, and ends a free plan at that time. The
 * units left of the free plan end with it, as at the end of any subscription, without a line of the ledger.
 */
export async function startSubscription(
  client: ClientBase,
  next: NextSubscription,
  now: number,
): Promise<Date> {
  await lockAccount(client, next.accountId);
  const startsAt = await nextSubscriptionStart(client, next, now);
  await client.query(
    `update subscriptions s set ends_at = $3 from plans p
     where s.account_id = $1 and s.wallet = $2 and s.starts_at < $3 and s.ends_at > $3
       and p.id = s.plan_id and p.price_cents = 0`,
    [next.accountId, next.wallet, startsAt],
  );
  return startsAt;
}

/**
 * Grants a pack to an account, and writes the grant line of the ledger in the same statement.
 * @returns the pack's id.
 */
export async function grantPack(database: Queryable, grant: PackGrant, now: number): Promise<number> {
  const { accountId, wallet, units, rateLimitPerMinute, validFrom, validUntil, window } = grant;
  if (validUntil <= validFrom) throw new GrantRefused('The end of a pack must be after its start.');
  if (window && wallet !== 'off_peak')
    throw new GrantRefused('Only an off-peak pack can have its own window.');
  const { rows } = await database.query<{ id: number }>(
    `with granted as (
       insert into packs (account_id, wallet, total_units, remaining_units, rate_limit_per_minute, valid_from,
         valid_until, window_start, window_end, window_timezone)
       values ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9) returning id
     ), line as (
       insert into ledger (account_id, at, kind, source, source_id, units)
       select $1, $10, 'grant', 'pack', id, $3 from granted
     )
     select id from granted`,
    [
      accountId,
      wallet,
      units,
      rateLimitPerMinute,
      validFrom,
      validUntil,
      window?.start ?? null,
      window?.end ?? null,
      window?.timezone ?? null,
      new Date(now),
    ],
  );
  return rows[0]?.id ?? 0;
}

/** The columns of a `Plan`, with its price. */
export const PLAN_COLUMNS = `code, name, minute_limit as "minuteLimit", daily_limit as "dailyLimit",
  monthly_limit as "monthlyLimit", price_cents as "priceCents", renews`;

const SELECT_PLANS = `select id, ${PLAN_COLUMNS} from plans`;
