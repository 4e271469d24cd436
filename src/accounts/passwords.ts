import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import type { LimitFunction } from 'p-limit';
import pLimit from 'p-limit';
import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { firstRow } from '../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { SoukError } from '../platform/errors.ts';
import { digestOf } from '../platform/fingerprint.ts';
import { endEmailChanges } from './people.ts';
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

/** The hash that is verified if a person has no password, so that the check takes the same time. */
const ABSENT_PASSWORD_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$neDvb7qF7lO7z7OGRwPAjQ$CPZPmiI627ioWqv5TypLNZnGbY+2KrojdwDOrAc9oKw';

/** The stored hash of a person's password. */
export interface StoredPassword {
  personId: number;
  digest: string;
}

/** Returns the hash of a password. @param from the places that have sent it. @throws SoukError BUSY if too many passwords wait. */
export function hashPassword(password: string, from: readonly string[] = []): Promise<string> {
  return inTurnOf(from, () => hash(password, COST));
}

/** Sets or replaces a person's password. @param digest from `hashPassword`. */
export async function setPassword(
  database: Queryable,
  personId: number,
  digest: string,
  now: number,
): Promise<void> {
  await database.query(
    `insert into passwords (person_id, hash, changed_at) values ($1, $2, $3)
     on conflict (person_id) do update set hash = excluded.hash, changed_at = excluded.changed_at`,
    [personId, digest, new Date(now)],
  );
}

/** The password of the person with this e-mail address; null if either does not exist. */
export function findPassword(database: Queryable, email: string) {
  return firstRow<StoredPassword>(
    database,
    `select a.id as "personId", p.hash as digest from people a join passwords p on p.person_id = a.id
     where a.email = $1`,
    [email],
  );
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
 * Replaces the password that was verified, and ends the other sessions of the person and the links that could undo the change.
 * @param session digest of the token of the session that continues. @param onSet runs in the same transaction.
 * @returns the new digest, or null if the password has been changed since it was verified.
 */
export async function changePassword(
  database: Database,
  { personId, digest: verified }: StoredPassword,
  { password, session, now }: { password: string; session: Buffer; now: number },
  onSet: (client: ClientBase) => Promise<void> = async () => {},
): Promise<string | null> {
  const digest = await hashPassword(password);
  return inTransaction(database, async (client) => {
    const { rowCount } = await client.query(
      'update passwords set hash = $3, changed_at = $4 where person_id = $1 and hash = $2',
      [personId, verified, digest, new Date(now)],
    );
    if (rowCount === 0) return null;
    await endPasswordResets(client, personId);
    await endEmailChanges(client, personId);
    await endOtherSessions(client, personId, session);
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

/** How long a password reset link from the operator is valid. */
export const RESET_LIFETIME_MS = 86_400_000;

/** How long a link that is sent by e-mail is valid. */
const MAILED_RESET_LIFETIME_MS = 3_600_000;

/**
 * Creates a token that sets the password of a person once, and invalidates the person's earlier tokens.
 * @returns the token, which is not stored.
 */
export async function createPasswordReset(
  database: Transactable,
  personId: number,
  now: number,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await inTransaction(database, async (client) => {
    await client.query('delete from password_resets where person_id = $1 or expires_at <= $2', [
      personId,
      new Date(now),
    ]);
    await client.query(
      'insert into password_resets (token_hash, person_id, expires_at) values ($1, $2, $3)',
      [digestOf(token), personId, new Date(now + RESET_LIFETIME_MS)],
    );
  });
  return token;
}

/**
 * Creates such a token for the person with an e-mail address. Earlier tokens stay valid, so that strangers who request
 * links cannot invalidate one that its owner is about to use. Waits for a change of the address, so that none is created for the earlier one.
 * @returns the token, which is not stored; null if there is none.
 */
export async function createMailedReset(
  database: Queryable,
  email: string,
  now: number,
): Promise<string | null> {
  const token = randomBytes(32).toString('base64url');
  const { rowCount } = await database.query(
    `insert into password_resets (token_hash, person_id, expires_at)
     select $1, id, $3 from people where email = $2 for share`,
    [digestOf(token), email, new Date(now + MAILED_RESET_LIFETIME_MS)],
  );
  return rowCount === 1 ? token : null;
}

/** The e-mail address of the person whose password a token sets; null if the token is unknown, used or expired. */
export async function personOfReset(database: Queryable, token: string, now: number): Promise<string | null> {
  const { rows } = await database.query<{ email: string }>(
    `select p.email from password_resets r join people p on p.id = r.person_id
     where r.token_hash = $1 and r.expires_at > $2`,
    [digestOf(token), new Date(now)],
  );
  return rows[0]?.email ?? null;
}

/**
 * Sets the password, invalidates the person's other tokens and those of a requested change of the address, and ends every session of
 * the person.
 * @param onSet runs in the same transaction. @returns false if the token is not valid.
 */
export async function resetPassword(
  database: Database,
  token: string,
  password: string,
  now: number,
  onSet: (client: ClientBase, personId: number) => Promise<void> = async () => {},
): Promise<boolean> {
  const digest = await hashPassword(password);
  return inTransaction(database, async (client) => {
    const reset = await firstRow<{ person_id: number }>(
      client,
      'delete from password_resets where token_hash = $1 and expires_at > $2 returning person_id',
      [digestOf(token), new Date(now)],
    );
    if (!reset) return false;
    await setPassword(client, reset.person_id, digest, now);
    await endPasswordResets(client, reset.person_id);
    await endEmailChanges(client, reset.person_id);
    await endOtherSessions(client, reset.person_id, null);
    await onSet(client, reset.person_id);
    return true;
  });
}

/** Invalidates the tokens of a person. */
export async function endPasswordResets(database: Queryable, personId: number): Promise<void> {
  await database.query('delete from password_resets where person_id = $1', [personId]);
}

/** The path of the page that sets a password with a token. */
export function resetPath(token: string): string {
  return `/reset-password?token=${token}`;
}
