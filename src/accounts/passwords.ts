import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import type { Queryable } from '../platform/db/pool.ts';

export const PASSWORD_LENGTH = { min: 10, max: 200 } as const;

/** Of Argon2id, as OWASP recommends them: memory in KiB, passes, lanes. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Each takes a thread and 19 MiB for some twenty milliseconds; the other threads are for everybody else's work. */
const inTurn = pLimit(2);

/** What is verified where there is no password, so that it takes as long as where there is one. */
const NOBODYS =
  '$argon2id$v=19$m=19456,t=2,p=1$neDvb7qF7lO7z7OGRwPAjQ$CPZPmiI627ioWqv5TypLNZnGbY+2KrojdwDOrAc9oKw';

/** What is kept of a password. */
export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password, COST));
}

/** Sets an account's password in place of the one before. @param digest of `hashPassword`. */
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

/** @returns the account that e-mail address and password belong to, or null: which of the two is wrong is not told. */
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
  const isRight = await inTurn(() => verify(found?.hash ?? NOBODYS, password).catch(() => false));
  return found && isRight ? found.id : null;
}
