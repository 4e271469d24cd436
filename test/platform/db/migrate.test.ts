import { expect, test } from 'vitest';
import { migrationNames } from '../../../src/platform/db/migrate.ts';
import { openTestDatabase } from '../../support/database.ts';

test('the migrations of all rooms run in the order of their numbers, and no two files have the same number', async () => {
  const database = await openTestDatabase();
  const { rows } = await database.query<{ name: string }>('select name from migrations order by id');
  const numbers = migrationNames().map((name) => /^\d{4}(?=_)/.exec(name)?.[0]);
  expect(rows.map(({ name }) => name)).toEqual(migrationNames());
  expect(numbers).not.toContain(undefined);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers[0]).toBe('0001');
});
