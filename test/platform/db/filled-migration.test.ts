import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createSettlements } from '../../../src/billing/settlement.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { type Database, openDatabase } from '../../../src/platform/db/pool.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { auditLedger } from '../../support/soak/ledger-audit.ts';

const MIGRATIONS = 'src/platform/db/migrations';
/** The last migration that had one table of calls. */
const OLD_SCHEMA = '0052';
const CALLS = 4_000;
const ACCOUNTS = 10;
const LATEST = new Date('2026-09-20T12:00:00Z');

let database: Database;
let admin: pg.Client;
const name = `filled_${randomBytes(6).toString('hex')}`;
beforeAll(async () => {
  const url = new URL(inject('templateDatabaseUrl'));
  url.pathname = '/postgres';
  admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`create database ${name} template template0`);
  url.pathname = `/${name}`;
  await migrateToOldSchema(url.href);
  database = openDatabase(url.href, createLogger('silent'));
  await fill();
  await migrate(url.href);
});
afterAll(async () => {
  await database.end();
  await admin.query(`drop database ${name}`);
  await admin.end();
});

async function migrateToOldSchema(url: string): Promise<void> {
  const files = (await readdir(MIGRATIONS)).sort();
  const count = files.filter((file) => file.slice(0, 4) <= OLD_SCHEMA).length;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const options = { dir: MIGRATIONS, direction: 'up', migrationsTable: 'migrations', noLock: true } as const;
  await runner({ ...options, dbClient: client, count, log: () => {} });
  await client.end();
}

/**
 * Calls of a year, four kinds in turn: charged from the cache, settled for less than was reserved, released, and still open.
 * Each draws on the one pack of its account.
 */
async function fill(): Promise<void> {
  await database.query(
    `insert into accounts (email, name, created_at) select n || '@test.example', 'Test', $2 from generate_series(1, $1) n`,
    [ACCOUNTS, LATEST],
  );
  await database.query(
    `create table filled as
     select 1 + n % $2::integer as account_id, n, n % 4 as kind,
       $3::timestamptz - (($1 - n) * interval '2 hours') as at,
       (lpad(to_hex((extract(epoch from $3::timestamptz - (($1 - n) * interval '2 hours')) * 1000)::bigint), 12, '0')
         || '70008000' || lpad(to_hex(n), 12, '0'))::uuid as id
     from generate_series(1, $1::integer) as n`,
    [CALLS, ACCOUNTS, LATEST],
  );
  await database.query(
    `insert into calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged, accepted_at,
       deadline_at, finished_at, attempts, answer, error, input, draws, background)
     select account_id, id, 'market.product', int8send(n), (array['settled', 'settled', 'released', 'reserved'])[kind + 1]::call_state,
       'market', 5, (array[5, 2, 0, 0])[kind + 1], at, at + interval '1 minute', case when kind < 3 then at end, 1,
       case when kind < 2 then 'own' end, case when kind = 2 then '{"kind":"UPSTREAM_ERROR","metadata":{"errorId":"e1"}}'::jsonb end,
       case when kind > 0 then jsonb_build_object('n', n) end,
       case when kind = 3 then jsonb_build_array(jsonb_build_object('account_id', account_id, 'call_id', id,
         'source', 'pack', 'source_id', account_id, 'units', 5)) end,
       n % 3 = 0
     from filled`,
  );
  await database.query(
    `insert into packs (account_id, wallet, total_units, remaining_units, rate_limit_per_minute, valid_from, valid_until)
     select account_id, 'general', 1000000, 1000000 - sum((array[5, 2, 0, 5])[kind + 1]), 1000000, $1::timestamptz - interval '9 years',
       $1::timestamptz + interval '9 years'
     from filled group by account_id order by account_id`,
    [LATEST],
  );
  await database.query(
    `insert into ledger (account_id, at, kind, source, source_id, call_id, units)
     select account_id, at, kind::ledger_kind, 'pack', account_id, call_id, units from (
       select account_id, $1::timestamptz - interval '8 years' as at, 'grant' as kind, null::uuid as call_id, 1000000 as units, 0 as nth
       from generate_series(1, $2::integer) as account_id
       union all select account_id, at, 'charge', id, 5, 1 from filled where kind = 0
       union all select account_id, at, 'reserve', id, 5, 1 from filled where kind > 0
       union all select account_id, at, 'settle', id, 2, 2 from filled where kind = 1
       union all select account_id, at, 'release', id, 3, 3 from filled where kind = 1
       union all select account_id, at, 'release', id, 5, 2 from filled where kind = 2
     ) as l order by at, nth`,
    [LATEST, ACCOUNTS],
  );
}

const ask = async (text: string) => (await database.query(text)).rows;

test('a migration of a filled database keeps every call, in a partition of its month', async () => {
  expect(await ask('select state, count(*) as calls from calls group by state order by state')).toEqual([
    { state: 'reserved', calls: CALLS / 4 },
    { state: 'settled', calls: CALLS / 2 },
    { state: 'released', calls: CALLS / 4 },
  ]);
  expect(
    await ask(`select c.n from filled c left join calls k on k.account_id = c.account_id and k.id = c.id
        and k.units_reserved = 5 and k.claim_key = int8send(c.n) and k.accepted_at = c.at and k.background = (c.n % 3 = 0)
        and k.input is not distinct from case when kind > 0 then jsonb_build_object('n', c.n) end
      where k.id is null`),
  ).toEqual([]);
  expect(
    await ask(
      `select (select count(*) from finished_calls_default) as calls, (select count(*) from ledger_default) as lines`,
    ),
  ).toEqual([{ calls: 0, lines: 0 }]);
});

test('calls that were open before a migration end after it, and the audit finds no fault', async () => {
  const open = await database.query<{ accountId: number; callId: string }>(
    'select account_id as "accountId", id as "callId" from calls where state = \'reserved\' order by id',
  );
  const settlements = createSettlements(database, () => LATEST.getTime());
  const ending = { units: 4, answer: 'own', error: null, startedAt: null, attempts: 1 };
  const ended = await Promise.all(open.rows.map((call) => settlements.end({ ...call, ...ending })));
  expect(ended.filter((one) => one?.endedNow && one.unitsCharged === 4)).toHaveLength(CALLS / 4);
  expect(await auditLedger(database)).toEqual([]);
});
