import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAccount } from '../../src/accounts/accounts.ts';
import { type Database, openDatabase } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import {
  findSecretState,
  purgeSecrets,
  requireSecret,
  rotateSecret,
  SECRET_OVERLAP_MS,
  signingSecrets,
} from '../../src/webhooks/secrets.ts';
import { createTestDatabase } from '../support/database.ts';

const NOW = Date.parse('2026-05-01T00:00:00Z');

let stores: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let accountId: number;
let accounts = 0;
beforeAll(async () => {
  stores = await createTestDatabase();
  database = openDatabase(stores.url, createLogger('silent'));
});
afterAll(async () => {
  await database.end();
  await stores.drop();
});
beforeEach(async () => {
  accounts += 1;
  accountId = (await createAccount(database, `${accounts}@test.example`, 'Test', NOW))?.id ?? 0;
});

const signing = async (now: number) => (await signingSecrets(database, [accountId], now)).get(accountId);

test('refuses webhooks of an account until it has created a secret', async () => {
  expect(await findSecretState(database, accountId, NOW)).toBeNull();
  expect(await signing(NOW)).toBeUndefined();
  await expect(requireSecret(database, accountId, 'webhook')).rejects.toMatchObject({
    kind: 'VALIDATION_FAILED',
    message: expect.stringMatching(/^webhook: .*POST \/api\/webhooks\/secret/),
  });
  const { secret, ...state } = await rotateSecret(database, accountId, NOW);
  expect(state).toEqual({ createdAt: new Date(NOW), previousSignsUntil: null });
  expect(await findSecretState(database, accountId, NOW)).toEqual(state);
  expect(await signing(NOW)).toEqual([secret]);
  await requireSecret(database, accountId, 'webhook');
});

test('each of several secrets rotated within a day signs for one more day, newest first', async () => {
  const made: string[] = [];
  for (let hour = 0; hour < 3; hour += 1) {
    const { secret } = await rotateSecret(database, accountId, NOW + hour * 3_600_000);
    made.unshift(secret);
  }
  const [third, second, first] = made;
  const last = NOW + 2 * 3_600_000;
  expect(await signing(last)).toEqual([third, second, first]);
  expect(await findSecretState(database, accountId, last)).toEqual({
    createdAt: new Date(last),
    previousSignsUntil: new Date(last + SECRET_OVERLAP_MS),
  });
  expect(await signing(NOW + 3_600_000 + SECRET_OVERLAP_MS)).toEqual([third, second]);
  expect(await signing(last + SECRET_OVERLAP_MS)).toEqual([third]);
  expect(await findSecretState(database, accountId, last + SECRET_OVERLAP_MS)).toMatchObject({
    previousSignsUntil: null,
  });
});

test('at most five secrets sign after many rotations, and the newest is one of them', async () => {
  let newest = '';
  for (let i = 0; i < 9; i += 1) newest = (await rotateSecret(database, accountId, NOW)).secret;
  const secrets = await signing(NOW);
  expect([secrets?.length, secrets?.[0]]).toEqual([5, newest]);
});

test('concurrent rotations create one current secret, and every created secret signs', async () => {
  const made = await Promise.all(Array.from({ length: 4 }, () => rotateSecret(database, accountId, NOW)));
  expect(new Set(await signing(NOW))).toEqual(new Set(made.map(({ secret }) => secret)));
  expect(await signing(NOW + SECRET_OVERLAP_MS)).toHaveLength(1);
});

test('deletes a secret that has expired, and keeps the current one', async () => {
  await rotateSecret(database, accountId, NOW);
  const { secret } = await rotateSecret(database, accountId, NOW);
  await purgeSecrets(database, NOW + SECRET_OVERLAP_MS - 1);
  expect(await signing(NOW)).toHaveLength(2);
  await purgeSecrets(database, NOW + SECRET_OVERLAP_MS);
  expect(await signing(NOW)).toEqual([secret]);
});
