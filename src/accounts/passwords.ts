import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import pLimit, { type LimitFunction } from 'p-limit';
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

/** The most passwords from one place that wait in this process. */
export const MOST_WAITING_IN_PLACE = 8;

const limit = pLimit(CONCURRENCY);

/** The passwords under way from each place, which are hashed one after the other. */
const places = new Map<string, { inTurn: LimitFunction; passwords: number }>();

/** The hash that is verified if an account has no password, so that the check takes the same time. */
const ABSENT_PASSWORD_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$neDvb7qF7lO7z7OGRwPAjQ$CPZPmiI627ioWqv5TypLNZnGbY+2KrojdwDOrAc9oKw';

/** The stored hash of an account's password. */
export interface StoredPassword {
  accountId: number;
  digest: string;
}

/** Returns the hash of a password. @param from the places that have sent it. @throws SoukError BUSY if too many passwords wait. */
export function hashPassword(password: string, from: readonly string[] = []): Promise<string> {
  return inTurnOf(from, () => hash(password, COST));
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

/** Compares a password; without a stored one it takes as long, so that the time does not reveal accounts. @param from the places that have sent it. @throws SoukError BUSY if too many passwords wait. */
export async function isPassword(
  stored: StoredPassword | null,
  password: string,
  from: readonly string[] = [],
): Promise<boolean> {
  const isRight = await inTurnOf(from, () =>
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

/** Hashes one password at a time from each place, so that no place fills the queue in which all wait. */
async function inTurnOf<Result>(from: readonly string[], work: () => Promise<Result>): Promise<Result> {
  const [name, ...others] = from;
  if (name === undefined) {
    if (limit.pendingCount >= MOST_WAITING) throw tooMany();
    return limit(work);
  }
  const place = places.get(name) ?? { inTurn: pLimit(1), passwords: 0 };
  if (place.passwords > MOST_WAITING_IN_PLACE) throw tooMany();
  places.set(name, place);
  place.passwords += 1;
  try {
    return await place.inTurn(() => inTurnOf(others, work));
  } finally {
    place.passwords -= 1;
    if (place.passwords === 0) places.delete(name);
  }
}

function tooMany(): SoukError {
  return new SoukError('BUSY', {
    message: 'Too many passwords are being checked. Try again in 5 seconds.',
    retryAfterSeconds: 5,
  });
}
