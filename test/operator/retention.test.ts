import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { retentionNotes, tableSizes } from '../../src/operator/redis-contents.ts';
import { RETENTION, RETENTION_RULES, type RetentionSettings, retain } from '../../src/operator/retention.ts';
import { openDatabase } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, load } from '../support/reports.ts';

const database = await openTestDatabase();
const log = createLogger('silent');
const maintained = (settings: Partial<RetentionSettings> = {}, now = Date.now()) =>
  retain({ database, log, settings: { ...RETENTION, ...settings } }, now);

/** The start of the month that is `offset` months from now, in UTC. */
function month(offset: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1));
}
const partition = (parent: string, offset: number) =>
  `${parent}_${month(offset).toISOString().slice(0, 7).replace('-', '_')}`;
const ask = async (text: string, values: unknown[] = []) => (await database.query(text, values)).rows;
const partitionsOf = async (parent: string) =>
  (await ask('select relid::regclass::text as name from pg_partition_tree($1) where isleaf', [parent])).map(
    ({ name }) => name as string,
  );
const notes = async () => (await retentionNotes(database, 100)).map(({ note }) => note);

async function addCall(at: Date): Promise<void> {
  await database.query(
    `insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
       accepted_at, deadline_at, finished_at, attempts, background)
     values (1, souk_first_id($1), 'market.product', '', 'settled', 'market', 1, 1, $1, $1, $1, 1, false)`,
    [at],
  );
}

async function addLine(at: Date, kind: string, units: number): Promise<void> {
  await database.query(
    `insert into ledger (account_id, at, kind, source, source_id, call_id, units)
     values (1, $1, $2::ledger_kind, 'pack', 1, case when $2::ledger_kind <> 'grant' then gen_random_uuid() end, $3)`,
    [at, kind, units],
  );
}

test('creates the partitions of the next months, and moves their rows from the default partition into them', async () => {
  await database.query(`drop table ${partition('ledger', 2)}, ${partition('finished_calls', 2)}`);
  await addLine(month(2), 'grant', 1);
  await addCall(month(2));
  await maintained();
  expect((await notes()).sort()).toEqual([
    `Created ${partition('finished_calls', 2)}`,
    `Created ${partition('ledger', 2)}`,
  ]);
  expect(await ask('select tableoid::regclass::text as name from ledger')).toEqual([
    { name: partition('ledger', 2) },
  ]);
  expect(await ask('select tableoid::regclass::text as name from finished_calls')).toEqual([
    { name: partition('finished_calls', 2) },
  ]);
  await maintained();
  expect(await notes()).toHaveLength(2);
});

describe('months of calls', () => {
  test('that ended longer ago than the setting are deleted, and the ledger stays', async () => {
    for (const offset of [-14, -13]) {
      await database.query("select souk_add_month('finished_calls', $1), souk_add_month('ledger', $1)", [
        month(offset).toISOString().slice(0, 10),
      ]);
      await addCall(month(offset));
      await addLine(month(offset), 'grant', 1);
    }
    await maintained();
    const names = await partitionsOf('finished_calls');
    expect(names).not.toContain(partition('finished_calls', -14));
    expect(names).toContain(partition('finished_calls', -13));
    expect(await partitionsOf('ledger')).toContain(partition('ledger', -14));
    expect(await notes()).toContain(`Deleted ${partition('finished_calls', -14)}`);
  });

  test('are not deleted by a process whose clock is ahead', async () => {
    const before = await partitionsOf('finished_calls');
    await maintained({}, Date.now() + 10 * 365 * 86_400_000);
    expect(await partitionsOf('finished_calls')).toEqual(before);
  });
});

test('folds old months of the ledger that are summed by day into one line for each source and kind, and keeps every balance', async () => {
  const name = partition('ledger', -20);
  await database.query("select souk_add_month('ledger', $1)", [month(-20).toISOString().slice(0, 10)]);
  for (const [kind, units] of [
    ['grant', 100],
    ['reserve', 5],
    ['settle', 3],
    ['release', 2],
    ['charge', 7],
    ['charge', 8],
  ] as const)
    await addLine(month(-20), kind, units);
  const balances = () =>
    ask(
      'select account_id, source, source_id, place, sum(units) as units from ledger_entries group by 1, 2, 3, 4 order by 4',
    );
  const before = await balances();
  await maintained({ ledgerMonths: 14 });
  expect(await ask(`select from ${name}`)).toHaveLength(6);
  await database.query('insert into unit_sums (summed_until) values (now())');
  for (const _ of [1, 2]) {
    await maintained({ ledgerMonths: 14 });
    expect(await balances()).toEqual(before);
    expect(await ask(`select kind, units::integer from ${name} order by kind`)).toEqual([
      { kind: 'grant', units: 100 },
      { kind: 'charge', units: 15 },
      { kind: 'reserve', units: 5 },
      { kind: 'settle', units: 3 },
      { kind: 'release', units: 2 },
    ]);
  }
  expect((await notes()).filter((note) => note === `Folded ${name}`)).toHaveLength(1);
  const { rows } = await database.query<{ least: number }>(
    `select min(units)::integer as least from (
       select sum(units) over (order by id) as units from ledger_entries where place = 'available') as left_over`,
  );
  expect(rows[0]?.least).toBeGreaterThanOrEqual(0);
});

test('a month of the ledger whose folding takes longer than the limit of other statements is folded', async () => {
  const name = partition('ledger', -21);
  await database.query("select souk_add_month('ledger', $1)", [month(-21).toISOString().slice(0, 10)]);
  await database.query(
    `insert into unit_sums (summed_until) values (now()) on conflict do nothing;
     create function slow() returns event_trigger language plpgsql as $$ begin perform pg_sleep(1.2); end $$;
     create event trigger slow on ddl_command_end when tag in ('COMMENT') execute function slow()`,
  );
  const limits = { statementMs: 1_000, lockMs: 1_000, idleInTransactionMs: 1_000 };
  const url = String(database.options.connectionString);
  const limited = openDatabase(url, log, { limits, answerMs: 1_100 });
  const settings = { ...RETENTION, ledgerMonths: 14 };
  await retain({ database: limited, log, settings }, Date.now());
  await limited.end();
  await database.query('drop event trigger slow');
  expect(await notes()).toContain(`Folded ${name}`);
});

test('a step that fails is reported, and the others are done and noted', async () => {
  await database.query("select souk_add_month('finished_calls', $1)", [
    month(-15).toISOString().slice(0, 10),
  ]);
  const name = partition('finished_calls', -15);
  await database.query(`create view reader as select * from ${name}; drop table ${partition('ledger', 2)}`);
  await database.query('delete from retention_notes');
  await database.query(
    `insert into retention_notes (at, note) values (now() - interval '401 days', 'very old')`,
  );
  await expect(maintained()).rejects.toThrow('other objects depend on it');
  expect(await notes()).toEqual([`Created ${partition('ledger', 2)}`]);
  await database.query('drop view reader');
  await maintained();
  expect(await notes()).toContain(`Deleted ${name}`);
});

test('keeps as many of the newest weekly reports of a site as the setting states, and the one before them', async () => {
  for (const week of ['2026-03-07', '2026-03-14', '2026-03-21'])
    await load(database, 'us', csvReport(week, [{ term: 'tent', rank: 1 }]));
  await load(database, 'uk', csvReport('2026-03-07', [{ term: 'tent', rank: 1 }]));
  await maintained({ reportWeeks: 1 });
  expect(await ask('select site, week::text from aba_weeks order by site, week')).toEqual([
    { site: 1, week: '2026-03-14' },
    { site: 1, week: '2026-03-21' },
    { site: 2, week: '2026-03-07' },
  ]);
  expect(await partitionsOf('aba_ranks_us')).toHaveLength(2);
  expect(await notes()).toContain('Deleted the report of us, 2026-03-07');
});

test('every table has a retention rule, and docs/operating/retention.md names it', async () => {
  const tables = (await tableSizes(database)).map(({ name }) => name).sort();
  expect(tables.length).toBeGreaterThan(30);
  expect(Object.keys(RETENTION_RULES).sort()).toEqual(tables);
  const document = await readFile('docs/operating/retention.md', 'utf8');
  for (const [table, rule] of Object.entries(RETENTION_RULES))
    expect(document).toContain(`| \`${table}\` | ${rule} |`);
});
