import { createHash, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import type { SecretBox } from '../platform/secret-box.ts';

const STEP_MS = 30_000;

/** Codes of the step before and after the present one are accepted, because clocks of telephones differ. */
const STEPS_AROUND = 1;

const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 8;

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
  const secret = new Secret({ size: 20 }).base32;
  await database.query(
    `insert into two_factor as t (account_id, secret) values ($1, $2)
     on conflict (account_id) do update set secret = excluded.secret where t.confirmed_at is null`,
    [accountId, box.seal(secret, purposeOf(accountId))],
  );
  return { uri: totpOf(secret, email).toString(), secret };
}

/** Turns the second factor on with the first code of the app. @returns the recovery codes, which are not stored; null for an incorrect code. */
export function confirmEnrolment(
  database: Database,
  box: SecretBox,
  accountId: number,
  { code, now }: { code: string; now: number },
): Promise<string[] | null> {
  return inTransaction(database, async (client) => {
    const step = await stepOf(client, box, accountId, { code, now });
    if (step === null) return null;
    const { rowCount } = await client.query(
      'update two_factor set confirmed_at = $2, last_step = $3 where account_id = $1 and confirmed_at is null',
      [accountId, new Date(now), step],
    );
    if (rowCount === 0) return null;
    const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
    await client.query(
      'insert into recovery_codes (account_id, hash) select $1, * from unnest($2::bytea[])',
      [accountId, codes.map((one) => digestOf(accountId, one))],
    );
    return codes;
  });
}

/** Uses a code of the app, or a recovery code. Each works once. @returns false if the code is not valid. */
export async function verifyCode(
  database: Database,
  box: SecretBox,
  accountId: number,
  { code, now }: { code: string; now: number },
): Promise<boolean> {
  const step = await stepOf(database, box, accountId, { code, now });
  const { rowCount } =
    step === null
      ? await database.query(
          'update recovery_codes set used_at = $3 where account_id = $1 and hash = $2 and used_at is null',
          [accountId, digestOf(accountId, code), new Date(now)],
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

/** Returns the time step that a code belongs to; null if it belongs to none around now. */
async function stepOf(
  database: Queryable,
  box: SecretBox,
  accountId: number,
  { code, now }: { code: string; now: number },
): Promise<number | null> {
  const { rows } = await database.query<{ secret: string }>(
    'select secret from two_factor where account_id = $1',
    [accountId],
  );
  const secret = rows[0] && box.open(rows[0].secret, purposeOf(accountId));
  if (!secret) return null;
  const token = code.replaceAll(' ', '');
  const delta = totpOf(secret, '').validate({ token, timestamp: now, window: STEPS_AROUND });
  return delta === null ? null : Math.floor(now / STEP_MS) + delta;
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: 'Souk', label, secret: Secret.fromBase32(secret) });
}

const purposeOf = (accountId: number) => `second factor of account ${accountId}`;

function newRecoveryCode(): string {
  const text = randomBytes(RECOVERY_BYTES).toString('hex');
  return `${text.slice(0, 8)}-${text.slice(8)}`;
}

/** A recovery code has 64 random bits, so a fast digest is as safe as a slow one. */
function digestOf(accountId: number, code: string): Buffer {
  const text = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(`recovery code of ${accountId}: ${text}`).digest();
}
