import type { Database } from '../db/pool.ts';
import type { Source, Wallet } from './wallets.ts';

/** One line of the account's ledger, as its customer sees it. Times are Unix milliseconds. */
export interface LedgerLine {
  /** Later lines have higher numbers. */
  id: number;
  at: number;
  kind: 'grant' | 'charge' | 'reserve' | 'settle' | 'release' | 'expire';
  wallet: Wallet;
  source: Source;
  sourceId: number;
  callId: string | null;
  operation: string | null;
  /** How many units the line is about. */
  units: number;
  /**
   * What it did to the units that can be spent: those of all lines of a pack add up to what is left in it. A
   * settlement changes nothing any more, since its units were taken by the reservation.
   */
  change: number;
}

export interface Usage {
  calls: number;
  units: number;
  byOperation: { operation: string; calls: number; units: number }[];
  /** UTC days as YYYY-MM-DD; days without a call are left out. */
  byDay: { day: string; calls: number; units: number }[];
}

export interface WalletBalances {
  subscriptions: {
    id: number;
    wallet: Wallet;
    planName: string;
    quantity: number;
    endsAt: number;
    dailyLimit: number | null;
    dayUsed: number;
    monthlyLimit: number | null;
    monthUsed: number;
  }[];
  /** Those that are valid, and those that are not any more or not yet, by the earliest end. */
  packs: {
    id: number;
    wallet: Wallet;
    totalUnits: number;
    remainingUnits: number;
    rateLimitPerMinute: number;
    validFrom: number;
    validUntil: number;
    valid: boolean;
  }[];
}

/** The newest lines of an account first; `before` is the id of the last line of the page before. */
export async function ledgerLines(
  database: Database,
  accountId: number,
  page: { limit: number; before?: number },
): Promise<LedgerLine[]> {
  const { rows } = await database.query<Omit<LedgerLine, 'at'> & { at: Date }>(
    `select l.id, l.at, l.kind, coalesce(s.wallet, k.wallet) as wallet, l.source, l.source_id as "sourceId",
       l.call_id as "callId", c.operation, l.units,
       coalesce((select e.units from ledger_entries e
         where e.account_id = l.account_id and e.id = l.id and e.place = 'available'), 0) as change
     from ledger l
     left join subscriptions s on l.source = 'subscription' and s.id = l.source_id
     left join packs k on l.source = 'pack' and k.id = l.source_id
     left join calls c on c.account_id = l.account_id and c.id = l.call_id
     where l.account_id = $1 and ($3::bigint is null or l.id < $3)
     order by l.id desc limit $2`,
    [accountId, page.limit, page.before ?? null],
  );
  return rows.map((row) => ({ ...row, at: row.at.getTime() }));
}

/** Admitted calls of [from, to), and what they were charged; a call that is still open has not been charged yet. */
export async function usage(
  database: Database,
  accountId: number,
  period: { from: number; to: number },
): Promise<Usage> {
  const { rows } = await database.query<{ day: string; operation: string; calls: number; units: number }>(
    `select to_char(accepted_at at time zone 'UTC', 'YYYY-MM-DD') as day, operation,
       count(*) as calls, sum(units_charged) as units
     from calls where account_id = $1 and accepted_at >= $2 and accepted_at < $3
     group by day, operation order by day, operation`,
    [accountId, new Date(period.from), new Date(period.to)],
  );
  const total = (some: readonly { calls: number; units: number }[]) => ({
    calls: some.reduce((sum, { calls }) => sum + calls, 0),
    units: some.reduce((sum, { units }) => sum + units, 0),
  });
  const operations = [...new Set(rows.map(({ operation }) => operation))].sort();
  const days = [...new Set(rows.map(({ day }) => day))];
  return {
    ...total(rows),
    byOperation: operations.map((operation) => ({
      operation,
      ...total(rows.filter((row) => row.operation === operation)),
    })),
    byDay: days.map((day) => ({ day, ...total(rows.filter((row) => row.day === day)) })),
  };
}

/** What an account can draw on, and has. */
export async function walletBalances(
  database: Database,
  accountId: number,
  now: number,
): Promise<WalletBalances> {
  const at = new Date(now);
  const [subscriptions, packs] = await Promise.all([
    database.query<Omit<WalletBalances['subscriptions'][number], 'endsAt'> & { endsAt: Date }>(
      `select subscription_id as id, wallet, plan_name as "planName", quantity, ends_at as "endsAt",
         daily_limit as "dailyLimit", day_used as "dayUsed", monthly_limit as "monthlyLimit", month_used as "monthUsed"
       from souk_subscription_meters($1, $2) order by wallet, subscription_id`,
      [accountId, at],
    ),
    database.query<
      Omit<WalletBalances['packs'][number], 'validFrom' | 'validUntil'> & {
        validFrom: Date;
        validUntil: Date;
      }
    >(
      `select id, wallet, total_units as "totalUnits", remaining_units as "remainingUnits",
         rate_limit_per_minute as "rateLimitPerMinute", valid_from as "validFrom", valid_until as "validUntil",
         valid_from <= $2 and valid_until > $2 as valid
       from packs where account_id = $1 order by valid_until, id`,
      [accountId, at],
    ),
  ]);
  return {
    subscriptions: subscriptions.rows.map((row) => ({ ...row, endsAt: row.endsAt.getTime() })),
    packs: packs.rows.map((row) => ({
      ...row,
      validFrom: row.validFrom.getTime(),
      validUntil: row.validUntil.getTime(),
    })),
  };
}
