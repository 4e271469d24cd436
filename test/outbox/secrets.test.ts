import { beforeEach, expect } from 'vitest';
import { createAccount } from '../../src/accounts/accounts.ts';
import {
  findSecretState,
  purgeSecrets,
  rotateSecret,
  SECRET_OVERLAP_MS,
  sealSecrets,
  signingSecrets,
} from '../../src/outbox/webhooks/secrets.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { test } from '../support/souk-test.ts';

const NOW = Date.parse('2026-05-01T00:00:00Z');

let database: Database;
let accountId: number;
let accounts = 0;
test.beforeAll(async ({ database: opened }) => {
  database = opened;
});
beforeEach(async () => {
  accountId = await newAccount();
});

const signing = async (now: number) => (await signingSecrets(database, [accountId], now)).get(accountId);

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

const [OLD, NEW] = ['an old key of thirty-two characters', 'a new key of thirty-two characters!'];
const newAccount = async () => {
  accounts += 1;
  return (await createAccount(database, `${accounts}@test.example`, 'Test', NOW))?.id ?? 0;
};

async function stored(accountId: number): Promise<string[]> {
  const { rows } = await database.query<{ secret: string }>(
    'select secret from webhook_secrets where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ secret }) => secret);
}

test('stores a new secret encrypted, and returns it for signing', async () => {
  const box = createSecretBox([NEW]);
  const { secret } = await rotateSecret(database, accountId, NOW, box);
  expect((await stored(accountId))[0]).toMatch(/^sealed:[0-9a-f]{8}:[\w+/=]+$/);
  expect((await signingSecrets(database, [accountId], NOW, { box })).get(accountId)).toEqual([secret]);
});

test('encrypts plain secrets and secrets of an earlier key with the new key, without changing them', async () => {
  const plain = await rotateSecret(database, accountId, NOW);
  const earlier = await rotateSecret(database, accountId, NOW, createSecretBox([OLD]));
  const box = createSecretBox([NEW, OLD]);
  const signing = async () => (await signingSecrets(database, [accountId], NOW, { box })).get(accountId);
  expect(await signing()).toEqual([earlier.secret, plain.secret]);
  await Promise.all([sealSecrets(database, box), sealSecrets(database, box)]);
  for (const secret of await stored(accountId)) expect(secret).toMatch(box.prefix ?? 'no key');
  expect(await signing()).toEqual([earlier.secret, plain.secret]);
});

test('reports a secret that no key opens, leaves it unchanged, and returns those of other accounts', async () => {
  const [lost, other] = [await newAccount(), await newAccount()];
  await rotateSecret(database, lost, NOW, createSecretBox([OLD]));
  const before = await stored(lost);
  const box = createSecretBox([NEW]);
  const { secret } = await rotateSecret(database, other, NOW, box);
  const unreadable: number[] = [];
  const onUnreadable = (accountId: number) => void unreadable.push(accountId);
  const signing = await signingSecrets(database, [lost, other], NOW, { box, onUnreadable });
  expect([signing.get(lost), signing.get(other), unreadable]).toEqual([[], [secret], [lost]]);
  await sealSecrets(database, box);
  expect(await stored(lost)).toEqual(before);
});
