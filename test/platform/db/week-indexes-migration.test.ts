import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadedWeeks } from '../../../src/brand-analytics/weeks.ts';
import { openTestDatabase } from '../../support/database.ts';
import { csvReport, load, REPORTS } from '../../support/reports.ts';

const MIGRATIONS = ['0032_brand_analytics_windows', '0033_brand_analytics_asins'];

/** The columns by which weeks were indexed before these migrations, besides ranks and terms. */
const INDEXES_BEFORE = ['tags', '(array[asin1, asin2, asin3])'];

const database = await openTestDatabase();

interface Index {
  name: string;
  definition: string;
}

async function indexesOf(table: string): Promise<Index[]> {
  const { rows } = await database.query<Index>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid, 1, true) as definition
      from pg_index where indrelid = $1::regclass order by 2`,
    [table],
  );
  return rows;
}

const definitionsOf = async (table: string) => (await indexesOf(table)).map(({ definition }) => definition);

test('weeks of an earlier version receive the indexes that imports create now', async () => {
  await load(database, 'us', csvReport('2026-03-07', [{ term: 'tent', rank: 1 }]));
  await load(database, 'uk', csvReport('2026-03-07', [{ term: 'tent', rank: 1 }]));
  const tables = (await loadedWeeks(database, REPORTS, null)).map(({ table }) => table);
  const made = await Promise.all(tables.map(definitionsOf));
  for (const table of tables) {
    for (const { name, definition } of await indexesOf(table))
      if (/tags|asin/.test(definition)) await database.query(`drop index ${name}`);
    for (const what of INDEXES_BEFORE)
      await database.query(`create index on ${table} using gin (${what}) with (fastupdate = off)`);
  }
  for (const migration of MIGRATIONS)
    await database.query(readFileSync(`src/platform/db/migrations/${migration}.sql`, 'utf8'));
  expect(made).toHaveLength(2);
  expect(await Promise.all(tables.map(definitionsOf))).toEqual(made);
});
