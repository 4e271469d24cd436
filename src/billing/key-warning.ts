import type { Database, Queryable } from '../platform/db/pool.ts';
import { unixMs } from '../platform/db/rows.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { QuotaSnapshot } from './quota.ts';
import type { Wallet } from './wallets.ts';

/** Units that a key has reserved and been charged in the present day and month (UTC), without those that were returned. */
export interface KeyUnits {
  day: number;
  month: number;
}

/** Returns the units that each key of an account has used this month, by the id of the key; without keys that have used none. For a key with a cap, they are the units by which admission judges. */
export async function unitsByKey(
  database: Queryable,
  accountId: number,
  now: number,
): Promise<ReadonlyMap<number, KeyUnits>> {
  const today = new Date(now).toISOString().slice(0, 10);
  const { rows } = await database.query<KeyUnits & { keyId: number }>({
    name: 'units-by-key',
    text: `select used.key_id as "keyId", coalesce(d.units, used.day) as day, coalesce(m.units, used.month) as month
      from (select key_id, coalesce(sum(units) filter (where day = $3::date), 0)::bigint as day, sum(units)::bigint as month from (
        -- Each day is a look-up in the index.
        select u.key_id, u.day, u.units from generate_series(0, $3::date - $2::date) as n
        join usage_days u on u.day = $2::date + n and u.account_id = $1 and u.key_id <> 0
        union all
        select o.key_id, (o.accepted_at at time zone 'UTC')::date, o.units_reserved from open_calls o
        where o.account_id = $1 and o.key_id is not null and o.accepted_at >= $2::date::timestamp at time zone 'UTC'
      ) as calls group by key_id) as used
      join api_keys k on k.id = used.key_id
      left join key_periods d on k.cap_day is not null and d.key_id = k.id and d.period = 'day'
        and d.starts_at = $3::date::timestamp at time zone 'UTC'
      left join key_periods m on k.cap_month is not null and m.key_id = k.id and m.period = 'month'
        and m.starts_at = $2::date::timestamp at time zone 'UTC'`,
    values: [accountId, `${today.slice(0, 8)}01`, today],
  });
  return new Map(rows.map(({ keyId, day, month }) => [keyId, { day, month }]));
}

/** The ends that the owner of a key is warned of. Times are Unix milliseconds. */
interface Endings {
  /** When a replaced key stops working; null if it was not replaced. */
  keyStopsAt: number | null;
  /** When a key expires within the warning time; null otherwise. */
  keyExpiresAt: number | null;
  /** The subscription that ends first within the warning time without a successor in its wallet. */
  subscription: { wallet: Wallet; endsAt: number } | null;
  /** When the last pack with units ends; null if there is no such pack. */
  lastPackEndsAt: number | null;
}

const WARNING_DAYS = 7;
const LOW_SHARE = 0.1;

const WALLET_NAMES: Record<Wallet, string> = { general: 'general', off_peak: 'off-peak' };

/**
 * Returns the most urgent warning for the owner of a key: the key was replaced or expires, a subscription ends soon, the packs
 * end soon, or few units are left. Null if there is none.
 */
export function keyWarning(
  endings: Endings,
  balance: Pick<QuotaSnapshot, 'general' | 'off_peak' | 'packs'>,
  now: number,
): string | null {
  const { keyStopsAt, keyExpiresAt, subscription, lastPackEndsAt } = endings;
  if (keyStopsAt !== null) return `This key was replaced and stops working at ${iso(keyStopsAt)}.`;
  if (keyExpiresAt !== null) return `This key expires at ${iso(keyExpiresAt)}.`;
  if (subscription) {
    const { wallet, endsAt } = subscription;
    return `The ${WALLET_NAMES[wallet]} plan ends at ${iso(endsAt)}, and no other plan follows it.`;
  }
  if (lastPackEndsAt !== null && lastPackEndsAt <= warnUntil(now)) {
    return `The last pack ends at ${iso(lastPackEndsAt)}.`;
  }
  return lowBalance(balance);
}

/** @param keyHash of the key in the request. */
export async function findEndings(
  database: Database,
  caller: { keyHash: Buffer; accountId: number },
  now: number,
): Promise<Endings> {
  const { rows } = await database.query<Endings>({
    name: 'quota-endings',
    text: `select
        case when k.rotated_at is not null then ${unixMs('k.expires_at')} end as "keyStopsAt",
        case when k.rotated_at is null and k.expires_at <= $4 then ${unixMs('k.expires_at')} end as "keyExpiresAt",
        (select ${unixMs('max(valid_until)')} from packs
         where account_id = $2 and remaining_units > 0 and valid_until > $3) as "lastPackEndsAt",
        case when s.wallet is not null then
          json_build_object('wallet', s.wallet, 'endsAt', ${unixMs('s.ends_at')}) end as subscription
      from (select 1) as always
      left join api_keys k on k.hash = $1 and k.purpose = 'customer'
      left join lateral (
        select s.wallet, s.ends_at from subscriptions s
        where s.account_id = $2 and s.starts_at <= $3 and s.ends_at > $3 and s.ends_at <= $4
          and not exists (
            select 1 from subscriptions n
            where n.account_id = $2 and n.wallet = s.wallet and n.starts_at <= s.ends_at and n.ends_at > s.ends_at)
          and not exists (
            select 1 from renewing_plans r
            where r.account_id = $2 and r.wallet = s.wallet and r.state = 'active')
        order by s.ends_at, s.wallet limit 1
      ) as s on true`,
    values: [caller.keyHash, caller.accountId, new Date(now), new Date(warnUntil(now))],
  });
  return rows[0] as Endings;
}

function lowBalance({ general, off_peak, packs }: Pick<QuotaSnapshot, 'general' | 'off_peak' | 'packs'>) {
  const bought = packs.items.reduce((sum, { totalUnits }) => sum + totalUnits, 0);
  if (packs.totalRemainingUnits < LOW_SHARE * bought) {
    return `Less than 10 % of the units of the packs are left: ${packs.totalRemainingUnits} of ${bought}.`;
  }
  for (const [wallet, subscription] of [['general', general] as const, ['off_peak', off_peak] as const]) {
    if (!subscription.subscribed) continue;
    const { limit, remaining } = subscription.monthly;
    if (limit === null || remaining === null || remaining >= LOW_SHARE * limit) continue;
    const month = `the month of the ${WALLET_NAMES[wallet]} plan, which ends at ${subscription.resetAt.monthly}`;
    return `Less than 10 % of the units are left in ${month}: ${remaining} of ${limit}.`;
  }
  return null;
}

const warnUntil = (now: number) => now + WARNING_DAYS * DAY_MS;
const iso = (at: number) => new Date(at).toISOString();
