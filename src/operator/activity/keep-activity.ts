import type { Queues } from '../../../jobs/queues.ts';
import { FIRST_TEST_ACCOUNT } from '../../accounts/authentication.ts';
import { POOL_NAMES, TEST_POOL } from '../../operations/pools.ts';
import type { Database } from '../../platform/db/pool.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { HOUR_COLUMNS } from '../call-records.ts';

/** How long the usage statistics are kept by hour. Afterwards they are kept by UTC day. */
const HOURS_KEPT_DAYS = 32;

const WEEKS_KEPT_DAYS = 400;

/** The pools whose queues have live calls. */
export const LIVE_POOLS = POOL_NAMES.filter((pool) => pool !== TEST_POOL);

/** Notes how many jobs wait in each queue, if no reading of the hour was higher. */
export async function recordQueues(database: Database, queues: Queues, now: number): Promise<void> {
  const waiting = await Promise.all(
    LIVE_POOLS.map((pool) => queues.of(pool).getJobCountByTypes('wait', 'prioritized')),
  );
  await database.query(
    `insert into queue_hours as q (hour, pool, waiting)
     select date_trunc('hour', $1::timestamptz, 'UTC'), * from unnest($2::text[], $3::integer[]) order by 2
     on conflict (hour, pool) do update set waiting = excluded.waiting where excluded.waiting > q.waiting`,
    [new Date(now), LIVE_POOLS, waiting],
  );
}

/** Adds the hours of old days to one row for each day and operation, so that a year is read in milliseconds. */
export async function foldHours(database: Database, now: number): Promise<void> {
  const before = new Date(Math.floor(now / DAY_MS - HOURS_KEPT_DAYS) * DAY_MS);
  await database.query(
    `with hours as (
       delete from operation_hours where hour < $1 and hour <> date_trunc('day', hour, 'UTC') returning *
     )
     insert into operation_hours as h (hour, operation, ${HOUR_COLUMNS.join(', ')})
     select date_trunc('day', hour, 'UTC'), operation, ${HOUR_COLUMNS.map((column) => `sum(${column})`).join(', ')} from hours group by 1, 2 order by 1, 2
     on conflict (hour, operation) do update set ${HOUR_COLUMNS.map((column) => `${column} = h.${column} + excluded.${column}`).join(', ')}`,
    [before],
  );
}

/** Notes the accounts with a call in each week until now. The last two weeks are noted again, because their calls may still end. */
export async function recordWeeks(database: Database, now: number): Promise<void> {
  await database.query(
    `insert into active_weeks as w (week, accounts)
     select date_trunc('week', day)::date, array_agg(distinct account_id) from usage_days
     where day >= coalesce((select max(week) - 7 from active_weeks), date_trunc('week', $1::date - ${WEEKS_KEPT_DAYS})::date)
       and day <= $1::date and account_id < ${FIRST_TEST_ACCOUNT}
     group by 1 on conflict (week) do update set accounts = excluded.accounts`,
    [new Date(now).toISOString().slice(0, 10)],
  );
  await database.query('delete from active_weeks where week < $1::date', [
    new Date(now - WEEKS_KEPT_DAYS * DAY_MS),
  ]);
}
