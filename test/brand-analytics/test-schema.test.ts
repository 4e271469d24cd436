import { expect, test } from 'vitest';
import { TEST_REPORTS } from '../../src/brand-analytics/weeks.ts';
import { openDatabase } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { openTestDatabase } from '../support/database.ts';

const database = await openTestDatabase();

async function structureOf(schema: string) {
  const list = async (text: string) => (await database.query<{ line: string }>(text, [schema])).rows;
  return {
    columns: await list(
      `select concat_ws(' ', table_name, column_name, data_type, collation_name, is_nullable, is_identity) as line
       from information_schema.columns where table_schema = $1 and table_name like 'aba\\_%' order by 1`,
    ),
    indexes: await list(
      `select t.relname || ' ' || regexp_replace(pg_get_indexdef(i.indexrelid), 'INDEX \\S+ ON (ONLY )?\\S+ ', '') as line
       from pg_index i join pg_class t on t.oid = i.indrelid
       where t.relnamespace = to_regnamespace($1) and t.relname like 'aba\\_%' order by 1`,
    ),
    checks: await list(
      `select t.relname || ' ' || pg_get_constraintdef(c.oid) as line
       from pg_constraint c join pg_class t on t.oid = c.conrelid
       where t.relnamespace = to_regnamespace($1) and t.relname like 'aba\\_%' and c.contype <> 'n' order by 1`,
    ),
    functions: await list(
      `select proname || ' ' || prosrc as line from pg_proc
       where pronamespace = to_regnamespace($1) and proname like 'aba\\_%' order by 1`,
    ),
  };
}

test('the tables of generated reports are like those of imported ones', async () => {
  const [imported, generated] = [await structureOf('public'), await structureOf('test_reports')];
  expect(imported.columns.length).toBeGreaterThan(100);
  expect(imported.functions).toHaveLength(2);
  expect(generated).toEqual(imported);
});

test('a connection to generated reports finds no other table', async () => {
  const reports = openDatabase(database.options.connectionString ?? '', createLogger('silent'), {
    session: TEST_REPORTS,
  });
  expect((await reports.query('select * from aba_weeks')).rows).toEqual([]);
  await expect(reports.query('select from accounts')).rejects.toThrow('relation "accounts" does not exist');
  await reports.end();
});
