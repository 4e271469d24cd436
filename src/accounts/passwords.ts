import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { SoukError } from '../platform/errors.ts';
import { endOtherSessions } from './sessions.ts';

export const PASSWORD_LENGTH = { min: 10, max: 200 } as const;

/** Parameters of Argon2id that OWASP recommends: memory in KiB, passes, lanes. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Each hash occupies a processor and 19 MiB for about 20 ms. The limit leaves the other processors to other work. */
export const CONCURRENCY = availableParallelism() > 2 ? 2 : 1;

/** The most passwords that wait in this process. The last of them waits for less than a second. */
export const MOST_WAITING = 32;

const limit = pLimit(CONCURRENCY);

/** The hash that is verified if an account has no password, so that the check takes the same time. */
const ABSENT_PASSWORD_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$neDvb7qF7lO7z7OGRwPAjQ$CPZPmiI627ioWqv5TypLNZnGbY+2KrojdwDOrAc9oKw';

/** The stored hash of an account's password. */
export interface StoredPassword {
  accountId: number;
  digest: string;
}

/** Returns the hash of a password. @throws SoukError BUSY if too many passwords wait. */
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

/** The password of the account with this e-mail address; null if either does not exist. */
export async function findPassword(database: Queryable, email: string): Promise<StoredPassword | null> {
  const { rows } = await database.query<StoredPassword>(
    `select a.id as "accountId", p.hash as digest from accounts a join passwords p on p.account_id = a.id
     where a.email = $1`,
    [email],
  );
  return rows[0] ?? null;
}

/** Compares a password; without a stored one it takes as long, so that the time does not reveal accounts. @throws SoukError BUSY if too many passwords wait. */
export async function isPassword(stored: StoredPassword | null, password: string): Promise<boolean> {
  const isRight = await limited(() =>
    verify(stored?.digest ?? ABSENT_PASSWORD_HASH, password).catch(() => false),
  );
  return stored !== null && isRight;
}

/**
 * Replaces the password that was verified, and ends the other sessions of the account.
 * @param session digest of the token of the session that continues. @param onSet runs in the same transaction.
 * @returns the new digest, or null if the password has been changed since it was verified.
 */
export async function changePassword(
  database: Database,
  { accountId, digest: verified }: StoredPassword,
  { password, session, now }: { password: string; session: Buffer; now: number },
  onSet: (client: ClientBase) => Promise<void> = async () => {},
): Promise<string | null> {
  const digest = await hashPassword(password);
  return inTransaction(database, async (client) => {
    const { rowCount } = await client.query(
      'update passwords set hash = $3, changed_at = $4 where account_id = $1 and hash = $2',
      [accountId, verified, digest, new Date(now)],
    );
    if (rowCount === 0) return null;
    await endOtherSessions(client, accountId, session);
    await onSet(client);
    return digest;
  });
}

async function limited<Result>(work: () => Promise<Result>): Promise<Result> {
  if (limit.pendingCount >= MOST_WAITING)
    throw new SoukError('BUSY', {
      message: 'Too many passwords are being checked. Try again in 5 seconds.',
      retryAfterSeconds: 5,
    });
  return limit(work);
}
