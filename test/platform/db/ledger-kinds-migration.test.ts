import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { openTestDatabase } from '../../support/database.ts';

const database = await openTestDatabase();

test('calls and the migration that indexes kinds of ledger lines do not wait for each other', async () => {
  await database.query('drop index ledger_seldom');
  const call = await database.connect();
  onTestFinished(() => call.release(true));
  const { rows } = await call.query<{ month: string }>(
    "select 'ledger_' || to_char(now() at time zone 'UTC', 'YYYY_MM') as month",
  );
  await call.query('begin');
  // An insert locks the table before the partition of its line.
  await call.query('lock table only ledger in row exclusive mode');
  const migrated = database.query(readFileSync('src/platform/db/migrations/0084_ledger_kinds.sql', 'utf8'));
  await expect
    .poll(async () => {
      const waiting = await database.query(
        "select 1 from pg_locks where not granted and relation = 'ledger'::regclass",
      );
      return waiting.rowCount;
    })
    .toBe(1);
  const lockMonth = `lock table ${rows[0]?.month} in row exclusive mode`;
  await Promise.all([migrated, call.query(lockMonth).then(() => call.query('commit'))]);
  const { rows: indexes } = await database.query(
    `select i.inhrelid::regclass::text as part from pg_inherits i where i.inhparent = 'ledger_seldom'::regclass`,
  );
  const { rows: parts } = await database.query(
    `select i.inhrelid::regclass::text as part from pg_inherits i where i.inhparent = 'ledger'::regclass`,
  );
  expect(indexes).toHaveLength(parts.length);
});
