import { describe, expect } from 'vitest';
import { listKeys, resetKey, revokeKeys } from '../../src/accounts/account-keys.ts';
import { createKey, hashKey, isWellFormed, keyPrefix, newKey } from '../../src/accounts/authentication.ts';
import { newAsin } from '../support/answers.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

const MINUTE_MS = 60_000;

test.override('soukOptions', { gateways: 2 });

/** Returns the statuses of a charged call, a free call and a job request with this key, at both gateways. */
async function statuses(souk: Souk, key: string): Promise<number[]> {
  const paths = [
    `/api/market/product?domain=1&asins=${newAsin()}`,
    '/api/quota',
    '/api/jobs/00000000-0000-7000-8000-000000000000',
  ];
  const all: number[] = [];
  for (const gateway of [0, 1]) {
    const client = souk.clientOf(key, gateway);
    for (const path of paths) all.push((await client.get(path)).status);
  }
  return all;
}

const WORKS = [200, 200, 404, 200, 200, 404];
const FORBIDDEN = [403, 403, 403, 403, 403, 403];
const now = (souk: Souk) => souk.clock.now();

test('accepts the new key immediately after a reset, and the old ones for exactly 30 minutes', async ({
  souk,
}) => {
  const { accountId, key } = await souk.account();
  const further = await createKey(souk.database, accountId, now(souk));
  const { key: fresh, olderKeysUntil } = await resetKey(souk.database, accountId, now(souk));
  expect(olderKeysUntil.getTime()).toBe(now(souk) + 30 * MINUTE_MS);
  expect(await statuses(souk, fresh)).toEqual(WORKS);

  souk.clock.advance(30 * MINUTE_MS - 1_000);
  // The clock skipped the reports of the workers, so the gateways treat them as gone.
  await souk.addWorker(['market']);
  expect(await statuses(souk, key)).toEqual(WORKS);
  expect(await statuses(souk, further)).toEqual(WORKS);
  souk.clock.advance(999);
  expect(await statuses(souk, key)).toEqual(WORKS);
  souk.clock.advance(1);
  expect(await statuses(souk, key)).toEqual(FORBIDDEN);
  expect(await statuses(souk, further)).toEqual(FORBIDDEN);
  expect(await statuses(souk, fresh)).toEqual(WORKS);
});

test('an account has at most 5,000 keys, and 200 new ones a day, resets included; those that work are listed, and the newest 100 others', async ({
  souk,
}) => {
  const { accountId, key } = await souk.account();
  const insertRevoked = (count: number, createdAt: number) =>
    souk.database.query(
      `insert into api_keys (hash, account_id, prefix, created_at, revoked_at)
       select sha256(gen_random_uuid()::text::bytea), $1, 'km_old', $3::timestamptz, $3 from generate_series(1, $2::integer)`,
      [accountId, count, new Date(createdAt)],
    );
  const reset = () => resetKey(souk.database, accountId, now(souk));
  const refusal = (limit: number, of: string) => ({
    kind: 'LIMIT_REACHED',
    metadata: { limit, of },
    retryAfterSeconds: 3_600,
  });
  await insertRevoked(199, now(souk));
  await expect(reset()).rejects.toMatchObject(refusal(200, 'newKeys'));
  souk.clock.advance(24 * 60 * MINUTE_MS);
  await insertRevoked(4_799, now(souk) - 25 * 60 * MINUTE_MS);
  await reset();
  await expect(reset()).rejects.toMatchObject(refusal(5_000, 'keptKeys'));
  const listed = await listKeys(souk.database, accountId, now(souk));
  expect(listed).toHaveLength(102);
  expect(listed[0]?.prefix).toBe(keyPrefix(key));
});

test('a second reset does not extend the time of the first key', async ({ souk }) => {
  const { accountId, key } = await souk.account();
  const first = await resetKey(souk.database, accountId, now(souk));
  souk.clock.advance(20 * MINUTE_MS);
  const second = await resetKey(souk.database, accountId, now(souk));
  souk.clock.advance(10 * MINUTE_MS);
  await souk.addWorker(['market']);
  expect(await statuses(souk, key)).toEqual(FORBIDDEN);
  expect(await statuses(souk, first.key)).toEqual(WORKS);
  souk.clock.advance(20 * MINUTE_MS);
  await souk.addWorker(['market']);
  expect(await statuses(souk, first.key)).toEqual(FORBIDDEN);
  expect(await statuses(souk, second.key)).toEqual(WORKS);
});

test('leaves one active key after concurrent resets', async ({ souk }) => {
  const { accountId } = await souk.account();
  await Promise.all(Array.from({ length: 12 }, () => resetKey(souk.database, accountId, now(souk))));
  const states = (await listKeys(souk.database, accountId, now(souk))).map(({ state }) => state);
  expect(states.filter((state) => state === 'active')).toHaveLength(1);
  expect(states.filter((state) => state === 'rotated')).toHaveLength(12);
});

test('a reset changes neither revoked keys nor keys of other accounts', async ({ souk }) => {
  const { accountId, key } = await souk.account();
  const other = await souk.account();
  await revokeKeys(souk.database, accountId, 'all', now(souk));
  await resetKey(souk.database, accountId, now(souk));
  expect(await statuses(souk, key)).toEqual(FORBIDDEN);
  expect(await listKeys(souk.database, other.accountId, now(souk))).toMatchObject([{ state: 'active' }]);
});

describe('revoking', () => {
  test.for<[string, (key: string, id: number) => string]>([
    ['by its id', (_key, id) => String(id)],
    ['by its prefix', (key) => keyPrefix(key)],
    ['by the key itself', (key) => key],
  ])(
    'a key %s refuses it at the next request to any gateway, and accepts the others',
    async ([_how, nameOf], { souk }) => {
      const { accountId, key } = await souk.account();
      const other = await createKey(souk.database, accountId, now(souk));
      const [first] = await listKeys(souk.database, accountId, now(souk));
      expect(await statuses(souk, key)).toEqual(WORKS);
      const revoked = await revokeKeys(souk.database, accountId, nameOf(key, first?.id ?? 0), now(souk));
      expect(revoked).toMatchObject([{ id: first?.id, prefix: keyPrefix(key), state: 'revoked' }]);
      expect(await statuses(souk, key)).toEqual(FORBIDDEN);
      expect(await statuses(souk, other)).toEqual(WORKS);
    },
  );

  test('a key of another account changes nothing', async ({ souk }) => {
    const { accountId } = await souk.account();
    const other = await souk.account();
    const [theirs] = await listKeys(souk.database, other.accountId, now(souk));
    for (const name of [other.key, keyPrefix(other.key), String(theirs?.id), '', '%']) {
      expect(await revokeKeys(souk.database, accountId, name, now(souk))).toEqual([]);
    }
    expect(await statuses(souk, other.key)).toEqual(WORKS);
  });
});

test('lists keys without any text that works as a key', async ({ souk }) => {
  const { accountId, key } = await souk.account();
  const start = now(souk);
  const { key: fresh } = await resetKey(souk.database, accountId, start);
  const list = await listKeys(souk.database, accountId, start);
  expect(list).toMatchObject([
    { prefix: keyPrefix(key), state: 'rotated', expiresAt: new Date(start + 30 * MINUTE_MS) },
    { prefix: keyPrefix(fresh), state: 'active', expiresAt: null, revokedAt: null },
  ]);
  expect(await listKeys(souk.database, accountId, start + 30 * MINUTE_MS)).toMatchObject([
    { state: 'expired' },
    { state: 'active' },
  ]);
  expect(JSON.stringify(list)).not.toContain(key.slice(0, 12));

  const { rows } = await souk.database.query<Record<string, unknown>>(
    'select * from api_keys where account_id = $1 order by id',
    [accountId],
  );
  expect(rows[0]?.hash).toEqual(hashKey(key));
  expect(JSON.stringify(rows)).not.toContain(key.slice(0, 12));
});

test('creates unique keys of km_ and 32 uniformly distributed letters or digits', () => {
  const keys = Array.from({ length: 20_000 }, newKey);
  expect(keys.filter((key) => !isWellFormed(key) || key.length !== 35)).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);

  const counts = new Map<string, number>();
  for (const key of keys)
    for (const letter of key.slice(3)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  const expected = (keys.length * 32) / 62;
  // Ten standard deviations. A byte modulo 62 would make eight letters a fifth more likely.
  const unlikely = [...counts].filter(([, count]) => Math.abs(count / expected - 1) > 0.1);
  expect([counts.size, unlikely]).toEqual([62, []]);
});

describe('the last use of a key', () => {
  const lastUseOf = async (souk: Souk, accountId: number) =>
    (await listKeys(souk.database, accountId, now(souk)))[0]?.lastUsedAt;

  test('is recorded within 30 seconds, and nothing for unknown keys', async ({ souk }) => {
    const { accountId, key } = await souk.account();
    expect(await lastUseOf(souk, accountId)).toBeNull();
    await souk.clientOf(key).get('/api/quota');
    const usedAt = now(souk);
    expect((await souk.clientOf(`km_${'0'.repeat(32)}`).get('/api/quota')).status).toBe(401);
    souk.clock.advance(30_000);
    await expect.poll(() => lastUseOf(souk, accountId)).toEqual(new Date(usedAt));
  });

  test('is not changed by a request with a revoked key', async ({ souk }) => {
    const { accountId, key } = await souk.account();
    await revokeKeys(souk.database, accountId, 'all', now(souk));
    expect((await souk.clientOf(key).get('/api/quota')).status).toBe(403);
    const good = await souk.account();
    await souk.clientOf(good.key).get('/api/quota');
    souk.clock.advance(30_000);
    await expect.poll(() => lastUseOf(souk, good.accountId)).not.toBeNull();
    expect(await lastUseOf(souk, accountId)).toBeNull();
  });
});
