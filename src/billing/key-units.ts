import type { Queryable } from '../platform/db/pool.ts';

/** Units that a key has reserved and been charged in the present day and month (UTC), without those that were returned. */
export interface KeyUnits {
  day: number;
  month: number;
}

/** Returns the units of each key of an account that has used some this month, by the id of the key. Admission counts the same for a key with a cap. */
export async function unitsByKey(
  database: Queryable,
  accountId: number,
  now: number,
): Promise<ReadonlyMap<number, KeyUnits>> {
  const today = new Date(now).toISOString().slice(0, 10);
  const { rows } = await database.query<KeyUnits & { keyId: number }>({
    name: 'units-by-key',
    text: `select key_id as "keyId", coalesce(sum(units) filter (where day = $3::date), 0)::bigint as day,
        sum(units)::bigint as month
      from (
        -- Each day is a look-up in the index.
        select u.key_id, u.day, u.units from generate_series(0, $3::date - $2::date) as n
        join usage_days u on u.day = $2::date + n and u.account_id = $1 and u.key_id <> 0
        union all
        select o.key_id, (o.accepted_at at time zone 'UTC')::date, o.units_reserved from open_calls o
        where o.account_id = $1 and o.key_id is not null and o.accepted_at >= $2::date::timestamp at time zone 'UTC'
      ) as used
      group by key_id`,
    values: [accountId, `${today.slice(0, 8)}01`, today],
  });
  return new Map(rows.map(({ keyId, day, month }) => [keyId, { day, month }]));
}
