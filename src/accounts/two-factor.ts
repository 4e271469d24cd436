import { createHash, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { firstRow, hasRow } from '../platform/db/rows.ts';
import { sealColumn } from '../platform/db/seal-column.ts';
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
interface GivenCode {
  code: string;
  now: number;
}

/** Returns the time step that a code of the app belongs to; null if it belongs to none around now. */
function totpStep(secret: string, { code, now }: GivenCode): number | null {
  const token = code.normalize('NFKC').replaceAll(' ', '');
  if (!/^\d{6}$/.test(token)) return null;
  const delta = totpOf(secret, '').validate({ token, timestamp: now, window: STEPS_AROUND });
  return delta === null ? null : Math.floor(now / STEP_MS) + delta;
}

function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const text = randomBytes(RECOVERY_BYTES).toString('hex');
    return `${text.slice(0, 8)}-${text.slice(8)}`;
  });
}

/** The stored form of a recovery code. The code has 64 random bits, so a fast digest is as safe as a slow one. */
function recoveryDigest(personId: number, code: string): Buffer {
  const text = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(`recovery code of ${personId}: ${text}`).digest();
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: 'Souk', label, secret: Secret.fromBase32(secret) });
}

/** How long after the password the code may follow. */
export const PENDING_SECONDS = 300;

/** Notes that a visitor has entered the password of a person with a second factor. @returns the token for the visitor's cookie. */
export async function beginPendingSignIn(
  database: Database,
  { personId, digest }: StoredPassword,
  now: number,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await database.query('delete from pending_sign_ins where expires_at <= $1', [new Date(now)]);
  await database.query(
    'insert into pending_sign_ins (token_hash, person_id, password_digest, expires_at) values ($1, $2, $3, $4)',
    [digestOf(token), personId, digest, new Date(now + PENDING_SECONDS * 1000)],
  );
  return token;
}

/** Returns the person and the verified password of a token; null if it is unknown or expired. */
export function findPendingSignIn(
  database: Database,
  token: string,
  now: number,
): Promise<(StoredPassword & { email: string }) | null> {
  return firstRow<StoredPassword & { email: string }>(
    database,
    `select s.person_id as "personId", s.password_digest as digest, p.email
     from pending_sign_ins s join people p on p.id = s.person_id
     where s.token_hash = $1 and s.expires_at > $2`,
    [digestOf(token), new Date(now)],
  );
}

export async function endPendingSignIn(database: Database, token: string): Promise<void> {
  await database.query('delete from pending_sign_ins where token_hash = $1', [digestOf(token)]);
}

/** Whether a person needs a code to sign in. */
export function hasTwoFactor(database: Queryable, personId: number) {
  return hasRow(database, 'select from two_factor where person_id = $1 and confirmed_at is not null', [
    personId,
  ]);
}

/** Creates the secret of a person who has no second factor. It counts after a code has confirmed it. @returns the address for apps, and the secret in it. */
export async function beginEnrolment(
  database: Queryable,
  box: SecretBox,
  { personId, email }: { personId: number; email: string },
): Promise<{ uri: string; secret: string }> {
  const secret = new Secret({ size: 20 }).base32;
  await database.query(
    `insert into two_factor as t (person_id, secret) values ($1, $2)
     on conflict (person_id) do update set secret = excluded.secret where t.confirmed_at is null`,
    [personId, box.seal(secret, purposeOf(personId))],
  );
  return { uri: totpOf(secret, email).toString(), secret };
}

/**
 * Turns the second factor on with the first code of the app, and ends the other sessions of the person, which were started without a code.
 * @param session digest of the token of the session that continues. @returns the recovery codes, which are not stored; null for an incorrect code.
 */
export function confirmEnrolment(
  database: Database,
  box: SecretBox,
  personId: number,
  { code, now, session }: GivenCode & { session: Buffer },
): Promise<string[] | null> {
  return inTransaction(database, async (client) => {
    // Sign-ins by password that are under way hold this lock until their sessions can be ended.
    await client.query('select 1 from passwords where person_id = $1 for update', [personId]);
    const step = await stepOf(client, box, personId, { code, now });
    if (step === null) return null;
    const { rowCount } = await client.query(
      'update two_factor set confirmed_at = $2, last_step = $3 where person_id = $1 and confirmed_at is null',
      [personId, new Date(now), step],
    );
    if (rowCount === 0) return null;
    await endOtherSessions(client, personId, session);
    const codes = newRecoveryCodes();
    await client.query('insert into recovery_codes (person_id, hash) select $1, * from unnest($2::bytea[])', [
      personId,
      codes.map((one) => recoveryDigest(personId, one)),
    ]);
    return codes;
  });
}

/** Uses a code of the app, or a recovery code. Each works once. @returns false if the code is not valid. */
export async function verifyCode(
  database: Database,
  box: SecretBox,
  personId: number,
  { code, now }: GivenCode,
): Promise<boolean> {
  const step = await stepOf(database, box, personId, { code, now });
  const { rowCount } =
    step === null
      ? await database.query(
          'update recovery_codes set used_at = $3 where person_id = $1 and hash = $2 and used_at is null',
          [personId, recoveryDigest(personId, code), new Date(now)],
        )
      : await database.query(
          'update two_factor set last_step = $2 where person_id = $1 and confirmed_at is not null and last_step < $2',
          [personId, step],
        );
  return rowCount === 1;
}

/** Turns the second factor off, and deletes its secret and recovery codes. @returns false if it was not on. */
export function removeTwoFactor(database: Queryable, personId: number) {
  return hasRow(
    database,
    `with pending as (delete from pending_sign_ins where person_id = $1),
       removed as (delete from two_factor where person_id = $1 returning confirmed_at)
     select from removed where confirmed_at is not null`,
    [personId],
  );
}

/** Returns the number of recovery codes that can still be used. */
export async function countRecoveryCodes(database: Queryable, personId: number): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) from recovery_codes where person_id = $1 and used_at is null',
    [personId],
  );
  return rows[0]?.count ?? 0;
}

/** Encrypts stored secrets with the first key of the box. */
export function sealTwoFactor(database: Database, box: SecretBox): Promise<void> {
  const secrets = { table: 'two_factor', column: 'secret', subject: 'person_id' };
  return sealColumn(database, box, secrets, purposeOf);
}

/** Returns the time step that a code belongs to; null if it belongs to none around now. */
async function stepOf(
  database: Queryable,
  box: SecretBox,
  personId: number,
  { code, now }: GivenCode,
): Promise<number | null> {
  const { rows } = await database.query<{ secret: string }>(
    'select secret from two_factor where person_id = $1',
    [personId],
  );
  const secret = rows[0] && box.open(rows[0].secret, purposeOf(personId));
  return secret ? totpStep(secret, { code, now }) : null;
}

const purposeOf = (personId: number) => `second factor of person ${personId}`;
