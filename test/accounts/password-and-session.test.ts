import { Secret, TOTP } from 'otpauth';
import { expect, onTestFinished } from 'vitest';
import {
  CONCURRENCY,
  changePassword,
  createPasswordReset,
  findPassword,
  hashPassword,
  isPassword,
  MOST_WAITING,
  MOST_WAITING_IN_PLACE,
  resetPassword,
  type StoredPassword,
  setPassword,
} from '../../src/accounts/passwords.ts';
import { createPerson } from '../../src/accounts/people.ts';
import {
  beginSession,
  CredentialsChanged,
  endOtherSessions,
  findSession,
  MOST_SESSIONS,
} from '../../src/accounts/sessions.ts';
import { beginEnrolment, confirmEnrolment } from '../../src/accounts/two-factor.ts';
import type { Database, Queryable } from '../../src/platform/db/pool.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { COSTLY } from '../support/cheap-argon2.ts';
import { test } from '../support/souk-test.ts';

const NOW = Date.parse('2026-03-04T10:00:00Z');
let numbers = 0;

/** An account with the password `first password`, as a sign-in has verified it. */
async function owner(database: Database): Promise<StoredPassword & { email: string }> {
  numbers += 1;
  const email = `owner-${numbers}@test.example`;
  const person = await createPerson(database, { email, name: 'Owner' }, NOW);
  await setPassword(database, person?.id ?? 0, await hashPassword('first password'), NOW);
  const stored = await findPassword(database, email);
  if (!stored || !(await isPassword(stored, 'first password'))) throw new Error('no password');
  return { ...stored, email };
}

const begin = (database: Database, { personId, digest }: StoredPassword) =>
  beginSession(database, { personId, passwordDigest: digest }, NOW);

const change = async (database: Database, stored: StoredPassword, password = 'second password') => {
  const session = Buffer.from('the session that changes it');
  return changePassword(database, stored, { password, session, now: NOW });
};

/** Opens a transaction, which can block a sign-in or a password change. */
async function openTransaction(database: Database) {
  const client = await database.connect();
  onTestFinished(() => client.release());
  await client.query('begin');
  return client;
}

async function insertSession(client: Queryable, personId: number): Promise<void> {
  await client.query(
    `insert into web_sessions (token_hash, person_id, created_at, seen_at, expires_at)
     values ('\\x01', $1, $2, $2, 'infinity')`,
    [personId, new Date(NOW)],
  );
}

async function untilSomebodyWaits(database: Database): Promise<void> {
  const waiting =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(async () => (await database.query(waiting)).rowCount).toBeGreaterThan(0);
}

test('creates no session if the password changes after the sign-in verified the old one', async ({
  database,
}) => {
  const stored = await owner(database);
  expect(await change(database, stored)).not.toBeNull();
  await expect(begin(database, stored)).rejects.toThrow(CredentialsChanged);
});

test('refuses a sign-in with the old password that waits for a concurrent password change', async ({
  database,
}) => {
  const stored = await owner(database);
  const changing = await openTransaction(database);
  await setPassword(changing, stored.personId, await hashPassword('second password'), NOW);
  await endOtherSessions(changing, stored.personId, null);
  const signingIn = begin(database, stored).catch((error: unknown) => error);
  await untilSomebodyWaits(database);
  await changing.query('commit');
  expect(await signingIn).toBeInstanceOf(CredentialsChanged);
});

test('a password change waits for a concurrent sign-in, and ends its session', async ({ database }) => {
  const stored = await owner(database);
  const signingIn = await openTransaction(database);
  await signingIn.query('select 1 from passwords where person_id = $1 for share', [stored.personId]);
  const changing = change(database, stored);
  await untilSomebodyWaits(database);
  await insertSession(signingIn, stored.personId);
  await signingIn.query('commit');
  expect(await changing).not.toBeNull();
  const { rows } = await database.query('select 1 from web_sessions where person_id = $1', [stored.personId]);
  expect(rows).toEqual([]);
});

/** Begins to set two-factor sign-in up. @returns a function that turns it on. */
async function twoFactor(database: Database, { personId, email }: { personId: number; email: string }) {
  const box = createSecretBox(['a key for secrets']);
  const { secret } = await beginEnrolment(database, box, { personId, email });
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: NOW });
  const session = Buffer.from('the session that turns it on');
  return () => confirmEnrolment(database, box, personId, { code, now: NOW, session });
}

test('creates no session by password alone if two-factor sign-in was turned on after the password was verified', async ({
  database,
}) => {
  const stored = await owner(database);
  expect(await (await twoFactor(database, stored))()).not.toBeNull();
  await expect(begin(database, stored)).rejects.toThrow(CredentialsChanged);
  const { personId, digest: passwordDigest } = stored;
  expect(await beginSession(database, { personId, passwordDigest, hasCode: true }, NOW)).toBeTruthy();
});

test('turning two-factor sign-in on waits for a concurrent sign-in, and ends its session', async ({
  database,
}) => {
  const stored = await owner(database);
  const turnOn = await twoFactor(database, stored);
  const signingIn = await openTransaction(database);
  await signingIn.query('select 1 from passwords where person_id = $1 for share', [stored.personId]);
  const turningOn = turnOn();
  await untilSomebodyWaits(database);
  await insertSession(signingIn, stored.personId);
  await signingIn.query('commit');
  expect(await turningOn).not.toBeNull();
  const { rows } = await database.query('select 1 from web_sessions where person_id = $1', [stored.personId]);
  expect(rows).toEqual([]);
});

test('makes one of two concurrent password changes with the same old password', async ({ database }) => {
  const stored = await owner(database);
  const made = await Promise.all([change(database, stored, 'password number two'), change(database, stored)]);
  expect(made.filter((digest) => digest !== null)).toHaveLength(1);
});

test('refuses a password change if a reset link set a new password after the old one was verified', async ({
  database,
}) => {
  const stored = await owner(database);
  const token = await createPasswordReset(database, stored.personId, NOW);
  expect(await resetPassword(database, token, 'the owner is back', NOW)).toBe(true);
  expect(await change(database, stored)).toBeNull();
  expect(await isPassword(await findPassword(database, stored.email), 'the owner is back')).toBe(true);
});

test('refuses passwords with BUSY while the queue of verifications is full, and accepts them afterwards', async () => {
  const hashes = Array.from({ length: MOST_WAITING + CONCURRENCY }, () => hashPassword('some password'));
  await expect(hashPassword('one too many')).rejects.toMatchObject({
    kind: 'BUSY',
    retryAfterSeconds: 5,
  });
  await expect(isPassword(null, 'one too many')).rejects.toMatchObject({ kind: 'BUSY' });
  await Promise.all(hashes);
  expect(await hashPassword('some password')).toMatch(/^\$argon2id\$/);
});

test('a password is hashed at the cost that OWASP recommends', async () => {
  expect(await hashPassword(`${COSTLY} password`)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});

test('passwords from one network wait for each other, and are refused with BUSY before passwords from other networks', async () => {
  const checks = Array.from({ length: 100 }, (_, n) =>
    isPassword(null, 'a password', ['network', `account ${n}`]),
  );
  const outcomes = Promise.allSettled(checks);
  expect(await hashPassword('some password', ['other network'])).toMatch(/^\$argon2id\$/);
  const checked = (await outcomes).filter(({ status }) => status === 'fulfilled');
  expect(checked).toHaveLength(1 + MOST_WAITING_IN_PLACE);
  expect(await isPassword(null, 'a password', ['network'])).toBe(false);
});

test('a sign-in beyond the most sessions of a person ends the one that has been unused for longest', async ({
  database,
}) => {
  const stored = await owner(database);
  const { personId, digest: passwordDigest } = stored;
  const tokens: string[] = [];
  for (let n = 0; n < MOST_SESSIONS; n += 1)
    tokens.push(await beginSession(database, { personId, passwordDigest }, NOW + n));
  const other = await begin(database, await owner(database));
  const [first = '', second = '', third = ''] = tokens;
  await findSession(database, first, NOW + 3_600_000);
  const last = await begin(database, stored);
  const found = await Promise.all(
    [first, second, third, other, last].map(
      async (token) => (await findSession(database, token, NOW)) !== null,
    ),
  );
  expect(found).toEqual([true, false, true, true, true]);
});
