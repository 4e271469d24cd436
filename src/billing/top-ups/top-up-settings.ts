import type { Queryable } from '../../platform/db/pool.ts';
import type { MonthSpent, TopUpRule } from './decide-top-up.ts';

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

export async function findTopUp(database: Queryable, accountId: number): Promise<AutoTopUp | null> {
  const { rows } = await database.query<AutoTopUp>(
    `select ${TOP_UP_COLUMNS} from auto_top_ups where account_id = $1`,
    [accountId],
  );
  return rows[0] ?? null;
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

export const TOP_UP_COLUMNS = `account_id as "accountId", pack_code as "packCode", threshold_units as "thresholdUnits",
  ceiling_cents as "ceilingCents", is_on as "isOn", stopped_reason as "stoppedReason", month,
  spent_cents as "spentCents", purchases, purchase_id as "purchaseId"`;
