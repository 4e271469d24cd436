import type { ClientBase } from 'pg';
import { lockAccount } from '../accounts/accounts.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import type { OffPeakWindow, Wallet } from './wallets.ts';

/** Limits of null mean that the dimension is not limited. */
export interface Plan {
  code: string;
  name: string;
  /** Calls a minute. */
  minuteLimit: number | null;
  /** Units a day and a month. */
  dailyLimit: number | null;
  monthlyLimit: number | null;
}

export type StoredPlan = Plan & { id: number };

export interface SubscriptionGrant {
  accountId: number;
  wallet: Wallet;
  planId: number;
  /** Multiplies the limits of the plan. */
  quantity: number;
  startsAt: Date;
  endsAt: Date;
}

export interface PackGrant {
  accountId: number;
  wallet: Wallet;
  units: number;
  rateLimitPerMinute: number;
  validFrom: Date;
  validUntil: Date;
  /** Of an off-peak pack that is sold with hours of its own; without it the service's window holds. */
  window?: OffPeakWindow;
}

/** A grant that would contradict another, or itself. The message is for the operator who asked for it. */
export class GrantRefused extends Error {}

/** Creates a plan, or brings the one of this code up to date, for those who have it as well. @returns its id. */
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

export async function listPlans(database: Database): Promise<StoredPlan[]> {
  const { rows } = await database.query<StoredPlan>(
    `${SELECT_PLANS} where superseded_at is null order by code`,
  );
  return rows;
}

export async function findPlan(database: Database, code: string): Promise<StoredPlan | null> {
  const { rows } = await database.query<StoredPlan>(
    `${SELECT_PLANS} where code = $1 and superseded_at is null`,
    [code],
  );
  return rows[0] ?? null;
}

/**
 * Gives an account a subscription.
 * @returns its id.
 * @throws GrantRefused when it overlaps another of the same wallet: which of the two a call draws on would be chance.
 */
export function grantSubscription(database: Database, grant: SubscriptionGrant): Promise<number> {
  return inTransaction(database, (client) => grantSubscriptionIn(client, grant));
}

/** The same within a transaction of the caller's. */
export async function grantSubscriptionIn(client: ClientBase, grant: SubscriptionGrant): Promise<number> {
  const { accountId, wallet, planId, quantity, startsAt, endsAt } = grant;
  if (endsAt <= startsAt) throw new GrantRefused('A subscription must end after it starts.');
  // Two grants at once must see each other, so they take turns under the account's lock.
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
    `insert into subscriptions (account_id, wallet, plan_id, quantity, starts_at, ends_at)
     values ($1, $2, $3, $4, $5, $6) returning id`,
    [accountId, wallet, planId, quantity, startsAt, endsAt],
  );
  return rows[0]?.id ?? 0;
}

/** When a subscription of this wallet can begin: now, or when the last one there is ends. */
export async function nextSubscriptionStart(
  client: Queryable,
  accountId: number,
  wallet: Wallet,
  now: number,
): Promise<Date> {
  const { rows } = await client.query<{ endsAt: Date | null }>(
    'select max(ends_at) as "endsAt" from subscriptions where account_id = $1 and wallet = $2 and ends_at > $3',
    [accountId, wallet, new Date(now)],
  );
  return rows[0]?.endsAt ?? new Date(now);
}

/**
 * Gives an account a resource pack, and writes the ledger's grant line with it: no pack without its line.
 * @returns the pack's id.
 */
export async function grantPack(database: Queryable, grant: PackGrant, now: number): Promise<number> {
  const { accountId, wallet, units, rateLimitPerMinute, validFrom, validUntil, window } = grant;
  if (validUntil <= validFrom) throw new GrantRefused('A pack must end after it begins to be valid.');
  if (window && wallet !== 'off_peak')
    throw new GrantRefused('Only an off-peak pack has a window of its own.');
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
      ...[accountId, wallet, units, rateLimitPerMinute, validFrom, validUntil],
      ...[window?.start ?? null, window?.end ?? null, window?.timezone ?? null, new Date(now)],
    ],
  );
  return rows[0]?.id ?? 0;
}

const SELECT_PLANS = `select id, code, name, minute_limit as "minuteLimit", daily_limit as "dailyLimit",
  monthly_limit as "monthlyLimit" from plans`;
