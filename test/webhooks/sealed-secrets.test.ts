import { expect } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { rotateSecret, sealSecrets, signingSecrets } from '../../src/webhooks/secrets.ts';
import { test } from '../support/souk-test.ts';

const NOW = Date.parse('2026-03-04T10:00:00Z');
const [OLD, NEW] = ['an old key of thirty-two characters', 'a new key of thirty-two characters!'];
let numbers = 0;

const newAccount = (database: Database) => {
  numbers += 1;
  return ensureAccount(database, `owner-${numbers}@test.example`, 'Owner', NOW);
};

async function stored(database: Database, accountId: number): Promise<string[]> {
  const { rows } = await database.query<{ secret: string }>(
    'select secret from webhook_secrets where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ secret }) => secret);
}

test('stores a new secret encrypted, and returns it for signing', async ({ database }) => {
  const box = createSecretBox([NEW]);
  const accountId = await newAccount(database);
  const { secret } = await rotateSecret(database, accountId, NOW, box);
  expect((await stored(database, accountId))[0]).toMatch(/^sealed:[0-9a-f]{8}:[\w+/=]+$/);
  expect((await signingSecrets(database, [accountId], NOW, { box })).get(accountId)).toEqual([secret]);
});

test('encrypts plain secrets and secrets of an earlier key with the new key, without changing them', async ({
  database,
}) => {
  const accountId = await newAccount(database);
  const plain = await rotateSecret(database, accountId, NOW);
  const earlier = await rotateSecret(database, accountId, NOW, createSecretBox([OLD]));
  const box = createSecretBox([NEW, OLD]);
  const signing = async () => (await signingSecrets(database, [accountId], NOW, { box })).get(accountId);
  expect(await signing()).toEqual([earlier.secret, plain.secret]);
  await Promise.all([sealSecrets(database, box), sealSecrets(database, box)]);
  for (const secret of await stored(database, accountId)) expect(secret).toMatch(box.prefix ?? 'no key');
  expect(await signing()).toEqual([earlier.secret, plain.secret]);
});

test('reports a secret that no key opens, leaves it unchanged, and returns those of other accounts', async ({
  database,
}) => {
  const [lost, other] = [await newAccount(database), await newAccount(database)];
  await rotateSecret(database, lost, NOW, createSecretBox([OLD]));
  const before = await stored(database, lost);
  const box = createSecretBox([NEW]);
  const { secret } = await rotateSecret(database, other, NOW, box);
  const unreadable: number[] = [];
  const onUnreadable = (accountId: number) => void unreadable.push(accountId);
  const signing = await signingSecrets(database, [lost, other], NOW, { box, onUnreadable });
  expect([signing.get(lost), signing.get(other), unreadable]).toEqual([[], [secret], [lost]]);
  await sealSecrets(database, box);
  expect(await stored(database, lost)).toEqual(before);
});
