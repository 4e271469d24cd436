import { createHash, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { digestOf } from '../platform/fingerprint.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import type { StoredPassword } from './passwords.ts';
import { endOtherSessions } from './sessions.ts';

const STEP_MS = 30_000;

/** Codes of the step before and after the present one are accepted, because clocks of telephones differ. */
const STEPS_AROUND = 1;

const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 8;

/** A code that a user enters, and the time of its check. */
export interface GivenCode {
  code: string;
  now: number;
}

/** Returns a new secret in Base32: 32 characters. */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** Returns the address from which an app reads a secret. */
export function totpUri(secret: string, label: string): string {
  return totpOf(secret, label).toString();
}

/** Returns the time step that a code of the app belongs to; null if it belongs to none around now. */
export function totpStep(secret: string, { code, now }: GivenCode): number | null {
  const token = code.replaceAll(' ', '');
  const delta = totpOf(secret, '').validate({ token, timestamp: now, window: STEPS_AROUND });
  return delta === null ? null : Math.floor(now / STEP_MS) + delta;
}

export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const text = randomBytes(RECOVERY_BYTES).toString('hex');
    return `${text.slice(0, 8)}-${text.slice(8)}`;
  });
}

/** The stored form of a recovery code. The code has 64 random bits, so a fast digest is as safe as a slow one. */
export function recoveryDigest(owner: number | 'operator', code: string): Buffer {
  const text = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(`recovery code of ${owner}: ${text}`).digest();
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: 'Souk', label, secret: Secret.fromBase32(secret) });
}

/** How long after the password the code may follow. */
export const PENDING_SECONDS = 300;

/** Notes that a visitor has entered the password of an account with a second factor. @returns the token for the visitor's cookie. */
export async function beginPendingSignIn(
  database: Database,
  { accountId, digest }: StoredPassword,
  now: number,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await database.query('delete from pending_sign_ins where expires_at <= $1', [new Date(now)]);
  await database.query(
    'insert into pending_sign_ins (token_hash, account_id, password_digest, expires_at) values ($1, $2, $3, $4)',
    [digestOf(token), accountId, digest, new Date(now + PENDING_SECONDS * 1000)],
  );
  return token;
}

/** Returns the account and the verified password of a token; null if it is unknown or expired, or the account is not active. */
export async function findPendingSignIn(
  database: Database,
  token: string,
  now: number,
): Promise<(StoredPassword & { email: string }) | null> {
  const { rows } = await database.query<StoredPassword & { email: string }>(
    `select p.account_id as "accountId", p.password_digest as digest, a.email
     from pending_sign_ins p join accounts a on a.id = p.account_id
     where p.token_hash = $1 and p.expires_at > $2 and a.state = 'active'`,
    [digestOf(token), new Date(now)],
  );
  return rows[0] ?? null;
}

export async function endPendingSignIn(database: Database, token: string): Promise<void> {
  await database.query('delete from pending_sign_ins where token_hash = $1', [digestOf(token)]);
}

/** Whether an account requires a code to sign in. */
export async function hasTwoFactor(database: Queryable, accountId: number): Promise<boolean> {
  const { rowCount } = await database.query(
    'select from two_factor where account_id = $1 and confirmed_at is not null',
    [accountId],
  );
  return rowCount !== 0;
}

/** Creates the secret of an account that has no second factor. It counts after a code has confirmed it. @returns the address for apps, and the secret in it. */
export async function beginEnrolment(
  database: Queryable,
  box: SecretBox,
  { accountId, email }: { accountId: number; email: string },
): Promise<{ uri: string; secret: string }> {
  const secret = newTotpSecret();
  await database.query(
    `insert into two_factor as t (account_id, secret) values ($1, $2)
     on conflict (account_id) do update set secret = excluded.secret where t.confirmed_at is null`,
    [accountId, box.seal(secret, purposeOf(accountId))],
  );
  return { uri: totpUri(secret, email), secret };
}

/**
 * Turns the second factor on with the first code of the app, and ends the other sessions of the account, which were started without a code.
 * @param session digest of the token of the session that continues. @returns the recovery codes, which are not stored; null for an incorrect code.
 */
export function confirmEnrolment(
  database: Database,
  box: SecretBox,
  accountId: number,
  { code, now, session }: GivenCode & { session: Buffer },
): Promise<string[] | null> {
  return inTransaction(database, async (client) => {
    const step = await stepOf(client, box, accountId, { code, now });
    if (step === null) return null;
    const { rowCount } = await client.query(
      'update two_factor set confirmed_at = $2, last_step = $3 where account_id = $1 and confirmed_at is null',
      [accountId, new Date(now), step],
    );
    if (rowCount === 0) return null;
    await endOtherSessions(client, accountId, session);
    const codes = newRecoveryCodes();
    await client.query(
      'insert into recovery_codes (account_id, hash) select $1, * from unnest($2::bytea[])',
      [accountId, codes.map((one) => recoveryDigest(accountId, one))],
    );
    return codes;
  });
}

/** Uses a code of the app, or a recovery code. Each works once. @returns false if the code is not valid. */
export async function verifyCode(
  database: Database,
  box: SecretBox,
  accountId: number,
  { code, now }: GivenCode,
): Promise<boolean> {
  const step = await stepOf(database, box, accountId, { code, now });
  const { rowCount } =
    step === null
      ? await database.query(
          'update recovery_codes set used_at = $3 where account_id = $1 and hash = $2 and used_at is null',
          [accountId, recoveryDigest(accountId, code), new Date(now)],
        )
      : await database.query(
          'update two_factor set last_step = $2 where account_id = $1 and confirmed_at is not null and last_step < $2',
          [accountId, step],
        );
  return rowCount === 1;
}

/** Turns the second factor off, and deletes its secret and recovery codes. @returns false if it was not on. */
export async function removeTwoFactor(database: Queryable, accountId: number): Promise<boolean> {
  const { rowCount } = await database.query(
    'with pending as (delete from pending_sign_ins where account_id = $1) delete from two_factor where account_id = $1',
    [accountId],
  );
  return rowCount !== 0;
}

/** Returns the number of recovery codes that can still be used. */
export async function countRecoveryCodes(database: Queryable, accountId: number): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) from recovery_codes where account_id = $1 and used_at is null',
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/** Encrypts stored secrets with the first key of the box: those from before SECRET_KEY was set, and those of an earlier key. */
export async function sealTwoFactor(database: Database, box: SecretBox): Promise<void> {
  if (box.prefix === null) return;
  const { rows } = await database.query<{ accountId: number; secret: string }>(
    'select account_id as "accountId", secret from two_factor where not starts_with(secret, $1)',
    [box.prefix],
  );
  for (const { accountId, secret } of rows) {
    const opened = box.open(secret, purposeOf(accountId));
    if (opened === null) continue;
    await database.query('update two_factor set secret = $3 where account_id = $1 and secret = $2', [
      accountId,
      secret,
      box.seal(opened, purposeOf(accountId)),
    ]);
  }
}

/** Returns the time step that a code belongs to; null if it belongs to none around now. */
async function stepOf(
  database: Queryable,
  box: SecretBox,
  accountId: number,
  { code, now }: GivenCode,
): Promise<number | null> {
  const { rows } = await database.query<{ secret: string }>(
    'select secret from two_factor where account_id = $1',
    [accountId],
  );
  const secret = rows[0] && box.open(rows[0].secret, purposeOf(accountId));
  return secret ? totpStep(secret, { code, now }) : null;
}

const purposeOf = (accountId: number) => `second factor of account ${accountId}`;
