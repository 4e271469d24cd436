import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import type { Queryable } from '../platform/db/pool.ts';

export const PASSWORD_LENGTH = { min: 10, max: 200 } as const;

/** Parameters of Argon2id that OWASP recommends: memory in KiB, passes, lanes. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Each hash occupies a thread and 19 MiB for about 20 ms. The limit leaves the other threads to other work. */
const limited = pLimit(2);

/** Verified if the account has no password, so that the check takes as long as for one that has. */
const ABSENT_PASSWORD_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$neDvb7qF7lO7z7OGRwPAjQ$CPZPmiI627ioWqv5TypLNZnGbY+2KrojdwDOrAc9oKw';

/** Returns the hash of a password. */
export function hashPassword(password: string): Promise<string> {
  return limited(() => hash(password, COST));
}

/** Sets or replaces an account's password. @param digest from `hashPassword`. */
export async function setPassword(
  database: Queryable,
  accountId: number,
  digest: string,
  now: number,
): Promise<void> {
  await database.query(
    `insert into passwords (account_id, hash, changed_at) values ($1, $2, $3)
     on conflict (account_id) do update set hash = excluded.hash, changed_at = excluded.changed_at`,
    [accountId, digest, new Date(now)],
  );
}

/** @returns the account with this e-mail address and password; null if either is incorrect. */
export async function accountWithPassword(
  database: Queryable,
  email: string,
  password: string,
): Promise<number | null> {
  const { rows } = await database.query<{ id: number; hash: string }>(
    'select a.id, p.hash from accounts a join passwords p on p.account_id = a.id where a.email = $1',
    [email],
  );
  const found = rows[0];
  const isRight = await limited(() =>
    verify(found?.hash ?? ABSENT_PASSWORD_HASH, password).catch(() => false),
  );
  return found && isRight ? found.id : null;
}
