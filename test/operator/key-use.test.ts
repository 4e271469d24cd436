import { expect } from 'vitest';
import { listKeys } from '../../src/accounts/account-keys.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 0 });
let souk: Souk;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
});

test('records the last use of a key within 30 seconds, and nothing for unknown keys', async () => {
  const { accountId, key } = await souk.account();
  const lastUsedAt = async () => (await listKeys(souk.database, accountId, souk.clock.now()))[0]?.lastUsedAt;
  expect(await lastUsedAt()).toBeNull();
  await souk.clientOf(key).get('/api/quota');
  const usedAt = souk.clock.now();
  expect((await souk.clientOf(`km_${'0'.repeat(32)}`).get('/api/quota')).status).toBe(401);
  souk.clock.advance(30_000);
  await expect.poll(lastUsedAt).toEqual(new Date(usedAt));
});

test('does not record the use of a revoked key', async () => {
  const { accountId, key } = await souk.account();
  await souk.database.query('update api_keys set revoked_at = now() where account_id = $1', [accountId]);
  expect((await souk.clientOf(key).get('/api/quota')).status).toBe(403);
  const good = await souk.account();
  await souk.clientOf(good.key).get('/api/quota');
  souk.clock.advance(30_000);
  const keyOf = async (id: number) => (await listKeys(souk.database, id, souk.clock.now()))[0];
  await expect.poll(async () => (await keyOf(good.accountId))?.lastUsedAt).not.toBeNull();
  expect((await keyOf(accountId))?.lastUsedAt).toBeNull();
});
