import { expect } from 'vitest';
import { hashKey, isWellFormed, testAccountOf } from '../../src/accounts/authentication.ts';
import { databaseClock } from '../../src/platform/db/pool.ts';
import type { Souk } from '../support/souk.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 0, clock: databaseClock() });
let souk: Souk;
let command: SoukCommand;
test.beforeAll(async ({ souk: opened }) => {
  // The command is a separate process, which uses the system clock.
  souk = opened;
  command = soukCommand({ DATABASE_URL: souk.databaseUrl });
});

const status = async (key: string) => (await souk.clientOf(key).get('/api/quota')).status;

test('create prints a key that works immediately, and leaves the other keys active', async () => {
  const { accountId, key } = await souk.account();
  const text = await command.text(`key create --account ${accountId}`);
  const [, second = ''] = /^Key: (km_\w{32})\nThis is the only time it is shown\.\n$/.exec(text) ?? [];
  const { key: third } = await command.json(`key create --account ${accountId}`);
  expect(new Set([key, second, third]).size).toBe(3);
  for (const each of [key, second, third])
    expect([isWellFormed(each), await status(each)]).toEqual([true, 200]);
});

test('create --test prints a key of the test account, which lists of accounts leave out', async () => {
  const { accountId } = await souk.account();
  const { key } = await command.json(`key create --account ${accountId} --test`);
  expect(key).toMatch(/^km_test_[A-Za-z0-9]{32}$/);
  const { rows } = await souk.database.query('select account_id from api_keys where hash = $1', [
    hashKey(key),
  ]);
  expect(rows).toEqual([{ account_id: testAccountOf(accountId) }]);
  const listed = (await command.json('account list')) as { id: number }[];
  expect(listed.map(({ id }) => id)).not.toContain(testAccountOf(accountId));
});

test('reset prints a key that works immediately, and the time at which older keys expire', async () => {
  const { accountId, key } = await souk.account();
  const before = Date.now();
  const reset = await command.json(`key reset --account ${accountId}`);
  const until = Date.parse(reset.olderKeysUntil);
  expect(until).toBeGreaterThanOrEqual(before + 30 * 60_000);
  expect(until).toBeLessThanOrEqual(Date.now() + 30 * 60_000);
  expect([await status(key), await status(reset.key)]).toEqual([200, 200]);

  const text = await command.text(`key reset --account ${accountId}`);
  expect(text).toMatch(
    /^Key: km_\w{32}\nThis is .+\nOlder keys of the account work until .+ UTC at the latest\.\n$/,
  );
  const states = (await command.json(`key list --account ${accountId}`)).map(
    (one: { state: string }) => one.state,
  );
  expect(states).toEqual(['rotated', 'rotated', 'active']);
});

test('revoke revokes one key by its prefix or id, or all keys', async () => {
  const { accountId, key } = await souk.account();
  const { key: second } = await command.json(`key create --account ${accountId}`);
  const { key: third } = await command.json(`key create --account ${accountId}`);
  const [{ prefix }, { id }] = await command.json(`key list --account ${accountId}`);

  expect(await command.text(`key revoke --account ${accountId} --key ${prefix}`)).toMatch(/revoked/);
  expect([await status(key), await status(second), await status(third)]).toEqual([403, 200, 200]);
  expect(await command.json(`key revoke --account ${accountId} --key ${id}`)).toMatchObject([
    { id, prefix: second.slice(0, 7) },
  ]);
  expect([await status(second), await status(third)]).toEqual([403, 200]);
  expect(await command.json(`key revoke --account ${accountId}`)).toHaveLength(3);
  expect(await status(third)).toBe(403);
});

test('revoke refuses a key of another account, and does not print it', async () => {
  const { accountId } = await souk.account();
  const other = await souk.account();
  const { code, stdout, stderr } = await command.run(`key revoke --account ${accountId} --key ${other.key}`);
  expect([code, stdout, stderr]).toEqual([1, '', `Account ${accountId} has no such key.\n`]);
  expect(await status(other.key)).toBe(200);
});

test('list prints the prefix, state and expiry of each key, and no whole key', async () => {
  const { accountId, key } = await souk.account();
  await command.json(`key reset --account ${accountId}`);
  const text = await command.text(`key list --account ${accountId}`);
  expect(text).toMatch(/ID +│ Prefix +│ State +│ Created +│ Valid until +│ Revoked/);
  expect(text).toMatch(new RegExp(`${key.slice(0, 7)}\\.\\.\\. │ rotated │ .+ UTC │ .+ UTC │`));
  expect(text).not.toContain(key.slice(0, 9));
});

test('create and update set limits, and an empty text removes them', async () => {
  const { accountId } = await souk.account();
  const { key } = await command.json(
    `key create --account ${accountId} --name Dashboard --scope read,products --cap-day 5 --network 203.0.113.0/24`,
  );
  const listed = async () => (await command.json(`key list --account ${accountId}`)).at(-1);
  const { id, ...limits } = await listed();
  expect(limits).toMatchObject({
    name: 'Dashboard',
    scopes: ['read', 'products'],
    capDay: 5,
    networks: ['203.0.113.0/24'],
  });
  expect(await status(key)).toBe(403);
  await command.run(
    `key update --account ${accountId} --key ${id} --network= --cap-month 9 --expires 2099-01-01`,
  );
  expect(await listed()).toMatchObject({
    networks: null,
    capDay: 5,
    capMonth: 9,
    expiresAt: '2099-01-01T00:00:00.000Z',
  });
  expect(await status(key)).toBe(200);
});

test('create takes all scopes and networks of options that are repeated', async () => {
  const { accountId } = await souk.account();
  await command.json(
    `key create --account ${accountId} --scope read --scope products,sellers --network 203.0.113.0/24 --network 2001:db8::/32`,
  );
  expect((await command.json(`key list --account ${accountId}`)).at(-1)).toMatchObject({
    scopes: ['read', 'products', 'sellers'],
    networks: ['203.0.113.0/24', '2001:db8::/32'],
  });
});

test('create names each invalid limit', async () => {
  const { accountId } = await souk.account();
  const { code, stderr } = await command.run(`key create --account ${accountId} --scope all --cap-day 0`);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/--scope must be one of .*--cap-day must be an integer/),
  ]);
});
