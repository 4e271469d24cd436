import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import { endOtherSessions } from './sessions.ts';
import {
  type GivenCode,
  newRecoveryCodes,
  newTotpSecret,
  recoveryDigest,
  totpStep,
  totpUri,
} from './two-factor-codes.ts';

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
      ...[accountId, secret, box.seal(opened, purposeOf(accountId))],
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
