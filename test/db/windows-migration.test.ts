import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, load } from '../support/reports.ts';

const MIGRATION = 'src/db/migrations/0032_brand_analytics_windows.sql';

const database = await openTestDatabase();

async function indexesOf(table: string): Promise<string[]> {
  const { rows } = await database.query<{ index: string }>(
    `select pg_get_indexdef(indexrelid, 1, true) as index from pg_index where indrelid = $1::regclass order by 1`,
    [table],
  );
  return rows.map(({ index }) => index);
}

test('weeks that were loaded before windows get the index that imports make now', async () => {
  await load(database, 'us', csvReport('2026-03-07', [{ term: 'tent', rank: 1 }]));
  await load(database, 'uk', csvReport('2026-03-07', [{ term: 'tent', rank: 1 }]));
  const weeks = await loadedWeeks(database, null);
  const made: string[][] = [];
  for (const { table } of weeks) {
    const before = await indexesOf(table);
    made.push(before);
    const windowed = before.find((index) => index.startsWith('(tags'));
    const { rows } = await database.query<{ name: string }>(
      'select indexrelid::regclass as name from pg_index where indrelid = $1::regclass and pg_get_indexdef(indexrelid, 1, true) = $2',
      [table, windowed],
    );
    await database.query(`drop index ${rows[0]?.name}`);
    await database.query(`create index on ${table} using gin (tags) with (fastupdate = off)`);
  }
  await database.query(readFileSync(MIGRATION, 'utf8'));
  expect(made).toHaveLength(2);
  expect(await Promise.all(weeks.map(({ table }) => indexesOf(table)))).toEqual(made);
});
