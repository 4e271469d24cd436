import { expect, test } from 'vitest';
import { migrate, migrationNames } from '../../../src/platform/db/migrate.ts';
import { openTestDatabase } from '../../support/database.ts';

const database = await openTestDatabase();

test('the migrations of all rooms run in the order of their numbers, and no two files have the same number', async () => {
  const { rows } = await database.query<{ name: string }>('select name from migrations order by id');
  const numbers = migrationNames().map((name) => /^\d{4}(?=_)/.exec(name)?.[0]);
  expect(rows.map(({ name }) => name)).toEqual(migrationNames());
  expect(numbers).not.toContain(undefined);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers[0]).toBe('0001');
});

test('migrations that cannot run are reported, and the next ones do not wait for them', async () => {
  const url = String(database.options.connectionString);
  const [first] = migrationNames();
  await database.query('update migrations set name = name || $2 where name = $1', [first, '_renamed']);
  await expect(migrate(url)).rejects.toThrow(`${first} is preceding`);
  await database.query('update migrations set name = $1 where name = $1 || $2', [first, '_renamed']);
  await expect(migrate(url)).resolves.toBeUndefined();
});
