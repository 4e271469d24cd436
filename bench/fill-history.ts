import type { Database } from '../src/platform/db/pool.ts';

const MONTHS = 13;
const FILLERS = 2;

/**
 * Fills the tables of finished calls, their ledger lines and the usage roll-up, as if all accounts had made `calls` calls,
 * spread evenly over the present month and the twelve before it: seven of ten from the cache, a twentieth failed, a tenth by one
 * account. Replaces what these tables hold; a database that was filled like this before keeps it. Each month is loaded into a new
 * table without indexes and attached, so that nothing goes through the write-ahead log of an embedded PostgreSQL. Meters and packs
 * do not change.
 */
export async function fillHistory(database: Database, calls: number): Promise<void> {
  const { rows } = await database.query<{ month: string; found: string | null }>(
    `select (date_trunc('month', now() at time zone 'UTC') - n * interval '1 month')::text as month,
       obj_description('finished_calls'::regclass, 'pg_class') as found
     from generate_series(0, $1 - 1) as n order by n`,
    [MONTHS],
  );
  const content = `${calls} calls until ${rows[0]?.month}`;
  if (rows[0]?.found === content) return;
  await database.query('comment on table finished_calls is null');
  await database.query('truncate finished_calls, ledger, usage_days, call_claims');
  // Before the transactions that fill the months, because dropping a partition locks the whole table until the end.
  const tables = rows.flatMap(({ month }) =>
    ['finished_calls', 'ledger'].map((parent) => partition(parent, month)),
  );
  await database.query(`drop table if exists ${tables.join(', ')}`);
  const months = rows.map(({ month }) => month);
  const fill = async () => {
    for (let month = months.pop(); month !== undefined; month = months.pop())
      await fillMonth(database, month, Math.round(calls / MONTHS));
  };
  await Promise.all(Array.from({ length: FILLERS }, fill));
  // Otherwise autovacuum would do this while calls are measured.
  await database.query('vacuum (freeze, analyze) finished_calls, ledger, usage_days');
  await database.query(`comment on table finished_calls is '${content}'`);
  await database.query('checkpoint');
}

async function fillMonth(database: Database, month: string, calls: number): Promise<void> {
  const [finished, ledger] = [partition('finished_calls', month), partition('ledger', month)];
  const client = await database.connect();
  try {
    await client.query('begin');
    await client.query(
      `create table ${finished} (like finished_calls including defaults including constraints)`,
    );
    await client.query(`insert into ${finished} ${CALLS}`, [month, calls]);
    await client.query(`create table ${ledger} (like ledger including defaults including constraints)`);
    await client.query(`insert into ${ledger} ${linesOf(finished)}`);
    for (const [parent, name] of [
      ['finished_calls', finished],
      ['ledger', ledger],
    ] as const)
      await client.query(attach(parent, name, month));
    await client.query(`insert into usage_days (account_id, day, operation, calls, units)
      select account_id, (accepted_at at time zone 'UTC')::date, operation, count(*), sum(units_charged)
      from ${finished} group by 1, 2, 3`);
    await client.query('commit');
  } finally {
    // A connection with an open transaction is closed.
    client.release(true);
  }
}

/** $1 is the month, $2 the number of calls. The last minutes of the month stay empty, so that calls end in it. */
const CALLS = `(account_id, id, operation, claim_key, state, pool, units_reserved, units_charged, accepted_at, deadline_at,
    started_at, finished_at, attempts, answer, error, input, background)
  select account_id,
    (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid,
    (array['market.product', 'market.product', 'market.product', 'market.productfinder', 'aba.rank', 'trends.interest-over-time'])[1 + get_byte(decode(hash, 'hex'), 0) % 6],
    souk_claim_key(account_id, decode(hash, 'hex')),
    case when n % 20 = 0 then 'released' else 'settled' end::call_state, 'market', 2,
    case when n % 20 = 0 then 0 else 2 end, at, at + interval '90 seconds',
    case when is_job then at + interval '10 ms' end, case when is_job then at + interval '2 seconds' else at end,
    case when is_job then 1 else 0 end,
    case when n % 20 > 0 then case when is_job then 'own' else 'shared:' || hash || ':1' end end,
    case when n % 20 = 0 then jsonb_build_object('kind', 'UPSTREAM_ERROR', 'metadata', jsonb_build_object('errorId', hash)) end,
    case when is_job then jsonb_build_object('domain', 1, 'asins', jsonb_build_array('B0' || substr(hash, 1, 8))) end,
    n % 9 = 0
  from (
    select n, md5(n::text || $1) as hash, n % 10 < 3 or n % 20 = 0 as is_job,
      accounts.ids[case when n / 10 % 10 = 0 then 1 else 1 + n * 7919::bigint % cardinality(accounts.ids) end] as account_id,
      $1::timestamp at time zone 'UTC'
        + (n - 1) * ($1::timestamp + interval '1 month' - interval '5 minutes' - $1::timestamp) / $2::integer as at
    from generate_series(1, $2::integer) as n, (select array_agg(id order by id) as ids from accounts) as accounts
    -- Otherwise the planner would compute the hash and the time again wherever they are used.
    offset 0
  ) as c`;

const linesOf = (finished: string) => `(account_id, at, kind, source, source_id, call_id, units)
  select c.account_id, l.at, l.kind::ledger_kind, 'subscription', c.account_id, c.id, 2
  from ${finished} c
  cross join lateral (
    select accepted_at as at, case when started_at is null then 'charge' else 'reserve' end as kind
    union all
    select finished_at, case when state = 'settled' then 'settle' else 'release' end where started_at is not null
  ) as l
  where c.started_at is not null or c.state = 'settled'`;

const attach = (parent: string, name: string, month: string) =>
  `do $$ begin execute format('alter table ${parent} attach partition ${name} for values from (%L) to (%L)',
     souk_month_bound('${parent}', '${month}'), souk_month_bound('${parent}', timestamp '${month}' + interval '1 month'));
   end $$`;

const partition = (parent: string, month: string) => `${parent}_${month.slice(0, 7).replace('-', '_')}`;
