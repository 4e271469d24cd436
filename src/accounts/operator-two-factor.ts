import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import { type GivenCode, newRecoveryCodes, recoveryDigest, totpStep } from './two-factor-codes.ts';

const PURPOSE = 'second factor of the operator';

/** The second factor of the operator console. All who hold the operator token share it. */
export interface OperatorTwoFactor {
  isOn: boolean;
  /** Recovery codes that can still be used. */
  recoveryCodes: number;
}

export async function readOperatorTwoFactor(database: Queryable): Promise<OperatorTwoFactor> {
  const { rows } = await database.query<OperatorTwoFactor>(
    `select secret is not null as "isOn", cardinality(recovery_hashes) as "recoveryCodes" from operator_two_factor`,
  );
  return rows[0] ?? { isOn: false, recoveryCodes: 0 };
}

/** Returns whether a code is required, which then does not change until the end of the transaction. */
export async function lockOperatorTwoFactor(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ isOn: boolean }>(
    'select secret is not null as "isOn" from operator_two_factor for share',
  );
  return rows[0]?.isOn === true;
}

/** Turns the second factor on with the first code of the app. @returns the recovery codes, which are not stored; null for an incorrect code, or if it is on. */
export async function addOperatorTwoFactor(
  client: ClientBase,
  box: SecretBox,
  { secret, ...given }: GivenCode & { secret: string },
): Promise<string[] | null> {
  const step = totpStep(secret, given);
  if (step === null) return null;
  const codes = newRecoveryCodes();
  const hashes = codes.map((code) => recoveryDigest('operator', code));
  const { rowCount } = await client.query(
    'update operator_two_factor set secret = $1, last_step = $2, recovery_hashes = $3::bytea[] where secret is null',
    [box.seal(secret, PURPOSE), step, hashes],
  );
  return rowCount === 1 ? codes : null;
}

/** Uses a code of the app, or a recovery code. Each works once. @returns false if the code is not valid. */
export async function verifyOperatorCode(
  client: ClientBase,
  box: SecretBox,
  given: GivenCode,
): Promise<boolean> {
  const { rows } = await client.query<{ secret: string }>(
    'select secret from operator_two_factor where secret is not null',
  );
  const secret = rows[0] && box.open(rows[0].secret, PURPOSE);
  const step = secret ? totpStep(secret, given) : null;
  const { rowCount } =
    step === null
      ? await client.query(
          `update operator_two_factor set recovery_hashes = array_remove(recovery_hashes, $1::bytea)
           where $1::bytea = any(recovery_hashes)`,
          [recoveryDigest('operator', given.code)],
        )
      : await client.query(
          'update operator_two_factor set last_step = $1 where secret is not null and last_step < $1',
          [step],
        );
  return rowCount === 1;
}

/** Turns the second factor off, and deletes its secret and recovery codes. @returns false if it was not on. */
export async function removeOperatorTwoFactor(client: Queryable): Promise<boolean> {
  const { rowCount } = await client.query(
    `update operator_two_factor set secret = null, last_step = 0, recovery_hashes = '{}' where secret is not null`,
  );
  return rowCount === 1;
}

/** Encrypts the stored secret with the first key of the box. */
export async function sealOperatorTwoFactor(database: Database, box: SecretBox): Promise<void> {
  if (box.prefix === null) return;
  const { rows } = await database.query<{ secret: string }>(
    'select secret from operator_two_factor where not starts_with(secret, $1)',
    [box.prefix],
  );
  for (const { secret } of rows) {
    const opened = box.open(secret, PURPOSE);
    if (opened === null) continue;
    await database.query('update operator_two_factor set secret = $2 where secret = $1', [
      ...[secret, box.seal(opened, PURPOSE)],
    ]);
  }
}
