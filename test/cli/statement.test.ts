import { expect } from 'vitest';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import type { Souk } from '../support/souk.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { clock: databaseClock() });
let souk: Souk;
let command: SoukCommand;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  souk.upstream.on('product', knowsEveryProduct);
  command = soukCommand({ DATABASE_URL: souk.databaseUrl });
});

/** An account with a pack of 100 that has made two product calls, of two units and of one. */
async function accountWithCalls(): Promise<number> {
  const { accountId, key } = await souk.account({ plan: null });
  await command.json(`grant pack --account ${accountId} --units 100`);
  const client = souk.clientOf(key);
  for (const asins of [`${newAsin()},${newAsin()}`, newAsin()]) {
    expect((await client.get(`/api/market/product?domain=1&asins=${asins}`)).status).toBe(200);
  }
  return accountId;
}

test('usage prints calls and units by operation and by day, and the remaining units', async () => {
  const account = await accountWithCalls();
  const usage = await command.json(`usage --account ${account}`);
  const total = { calls: 2, units: 3 };
  expect(usage).toMatchObject({
    accountId: account,
    ...total,
    byOperation: [{ operation: 'market.product', ...total }],
    packs: [{ remainingUnits: 97, totalUnits: 100, valid: true }],
  });
  expect(usage.byDay.reduce((sum: number, { units }: { units: number }) => sum + units, 0)).toBe(3);
  expect(Date.parse(usage.to) - Date.parse(usage.from)).toBe(30 * 86_400_000);

  const text = await command.text(`usage --account ${account} --days 2`);
  expect(text).toContain('Last 2 days: 2 calls, 3 units.');
  expect(text).toMatch(/│ market\.product │ +2 │ +3 │/);
  expect(text).toMatch(/│ general │ +97 │ +100 │/);
});

test('usage leaves out calls from before the requested days', async () => {
  const account = await accountWithCalls();
  await souk.database.query('update usage_days set day = day - 3 where account_id = $1', [account]);
  expect(await command.json(`usage --account ${account} --days 2`)).toMatchObject({
    calls: 0,
    units: 0,
    byDay: [],
  });
  expect(await command.json(`usage --account ${account} --days 5`)).toMatchObject({ calls: 2, units: 3 });
});

test('ledger prints lines that add up to the remaining units, newest first, in pages', async () => {
  const account = await accountWithCalls();
  const lines: { id: number; kind: string; change: number; operation: string | null }[] = await command.json(
    `ledger --account ${account}`,
  );
  expect(lines.reduce((sum, { change }) => sum + change, 0)).toBe(97);
  expect(lines.at(-1)).toMatchObject({ kind: 'grant', change: 100, operation: null });
  expect(lines[0]).toMatchObject({ operation: 'market.product' });
  const ids = lines.map(({ id }) => id);
  expect(ids).toEqual([...ids].sort((a, b) => b - a));

  const page = await command.json(`ledger --account ${account} --limit 2`);
  const rest = await command.json(`ledger --account ${account} --before ${page[1].id}`);
  expect([...page, ...rest]).toEqual(lines);
  expect(await command.text(`ledger --account ${account}`)).toMatch(
    /│ grant +│ general │ pack \d+ +│ +100 │ +100 │/,
  );
});

test('usage and ledger are empty for an account without grants', async () => {
  const { accountId } = await souk.account({ plan: null });
  expect(await command.text(`usage --account ${accountId}`)).toBe(
    'Last 30 days: 0 calls, 0 units.\n\nSubscriptions:\nNone.\n\nPacks:\nNone.\n',
  );
  expect(await command.text(`ledger --account ${accountId}`)).toBe('None.\n');
  expect(await command.json(`ledger --account ${accountId}`)).toEqual([]);
});
