import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ClientBase } from 'pg';
import { unixMs } from '../platform/db/columns.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { digestOf } from '../platform/fingerprint.ts';
import { hashKey, keyFromDigest, type Mode, testAccountOf } from './authentication.ts';

/**
 * The cookie value of a browser that has signed in. It is derived from a secret, so the database stores nothing for it, and it
 * becomes invalid when the secret changes.
 * @param secret the stored digest of a password, or the operator's token.
 */
export function deviceToken(secret: string): string {
  return createHmac('sha256', secret).update('known device').digest('base64url');
}

/** Whether a browser has sent the cookie value of this secret. */
export function isKnownDevice(token: string | undefined, secret: string): boolean {
  const [given, expected] = [Buffer.from(token ?? ''), Buffer.from(deviceToken(secret))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** A session ends after this time without a request. */
const IDLE_MS = { customer: 7 * 86_400_000, operator: 12 * 3_600_000 } as const;

/** A session ends at the latest this long after its start. */
const LONGEST_MS = 30 * 86_400_000;

/** The most sessions of one customer. A further one ends the session that has been unused for longest. */
export const MOST_SESSIONS = 20;

/** The time of the last request is stored at most this often. */
const SEEN_EVERY_MS = 60_000;

export type Session =
  | {
      kind: 'customer';
      tokenHash: Buffer;
      /** The account whose data the pages show: the customer's, or its test account. */
      accountId: number;
      /** The account that has signed in, which has the password and the purchases. */
      liveAccountId: number;
      email: string;
      name: string;
      /** The key with which the pages call the API for this customer. */
      apiKey: string;
      /** The operator views the customer's pages and cannot change anything. */
      isOperator: boolean;
      /** The digest of the token with which that operator has signed in. */
      credential: Buffer | null;
    }
  | {
      kind: 'operator';
      tokenHash: Buffer;
      /** Digest of the operator token with which the session was started. */
      credential: Buffer;
    };

/** The owner of a new session: a customer, or an operator, who may view the pages of a customer. */
type Beginner =
  /** `passwordDigest`: the stored password that was verified. */
  { accountId: number; passwordDigest?: string } | { accountId?: number; credential: Buffer };

/** The password has been changed since it was verified. */
export class PasswordChanged extends Error {}

/**
 * Starts a session.
 * @returns its token for the cookie. The database stores only its digest.
 * @throws PasswordChanged.
 */
export async function beginSession(database: Transactable, who: Beginner, now: number): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  const { accountId = null } = who;
  const credential = 'credential' in who ? who.credential : null;
  const isOperator = credential !== null;
  const expiresAt = new Date(now + (isOperator ? IDLE_MS.operator : IDLE_MS.customer));
  await inTransaction(database, async (client) => {
    if ('passwordDigest' in who) await requirePassword(client, who);
    const keyHash = accountId === null ? null : hashKey(apiKeyOf(token));
    if (accountId !== null) {
      await client.query(
        `insert into api_keys (hash, account_id, prefix, created_at, expires_at, purpose)
         values ($1, $2, 'pages', $3, $4, 'pages')`,
        [keyHash, accountId, new Date(now), expiresAt],
      );
    }
    await client.query(
      `insert into web_sessions (token_hash, account_id, key_hash, is_operator, created_at, seen_at, expires_at, credential)
       values ($1, $2, $3, $4, $5, $5, $6, $7)`,
      [digestOf(token), accountId, keyHash, isOperator, new Date(now), expiresAt, credential],
    );
    if (accountId !== null && !isOperator) await endUnused(client, accountId, digestOf(token));
  });
  await sweep(database, now);
  return token;
}

/**
 * Locks the verified password, so that a change of the password waits for this transaction and then ends its session. A change
 * that was committed before is detected here.
 * @throws PasswordChanged.
 */
async function requirePassword(
  client: ClientBase,
  { accountId, passwordDigest }: { accountId: number; passwordDigest?: string },
): Promise<void> {
  const { rowCount } = await client.query(
    'select 1 from passwords where account_id = $1 and hash = $2 for share',
    [accountId, passwordDigest],
  );
  if (rowCount === 0) throw new PasswordChanged();
}

/** The session of a token; null if it is unknown or expired, or its account is not active. */
export async function findSession(database: Database, token: string, now: number): Promise<Session | null> {
  const tokenHash = digestOf(token);
  const { rows } = await database.query<SessionRow>({
    name: 'session',
    text: `select s.account_id as "accountId", s.is_test as "isTest", s.is_operator as "isOperator", s.credential,
        ${unixMs('s.created_at')} as "createdAt", ${unixMs('s.seen_at')} as "seenAt", a.email, a.name, a.state
      from web_sessions s left join accounts a on a.id = s.account_id
      where s.token_hash = $1 and s.expires_at > $2`,
    values: [tokenHash, new Date(now)],
  });
  const row = rows[0];
  if (!row || (row.accountId !== null && row.state !== 'active' && !row.isOperator)) return null;
  if (now - row.seenAt > SEEN_EVERY_MS) {
    const idleMs = row.isOperator ? IDLE_MS.operator : IDLE_MS.customer;
    const expiresAt = Math.min(now + idleMs, row.createdAt + LONGEST_MS);
    await database.query(
      `with seen as (update web_sessions set seen_at = $2, expires_at = $3 where token_hash = $1 returning key_hash)
       update api_keys set expires_at = $3 where hash in (select key_hash from seen)`,
      [tokenHash, new Date(now), new Date(expiresAt)],
    );
  }
  if (row.accountId === null)
    return { kind: 'operator', tokenHash, credential: row.credential ?? Buffer.alloc(0) };
  return {
    kind: 'customer',
    tokenHash,
    accountId: row.isTest ? testAccountOf(row.accountId) : row.accountId,
    liveAccountId: row.accountId,
    email: row.email ?? '',
    name: row.name ?? '',
    apiKey: apiKeyOf(token, row.isTest ? 'test' : 'live'),
    isOperator: row.isOperator,
    credential: row.credential,
  };
}

/**
 * Lets the pages of a customer's session show the live account or its test account, which must exist. The session gets the key of
 * that account instead of the one it has.
 */
export async function setSessionMode(
  database: Database,
  token: string,
  mode: Mode,
  now: number,
): Promise<void> {
  await inTransaction(database, async (client) => {
    const { rows } = await client.query<{ accountId: number; keyHash: Buffer; expiresAt: Date }>(
      `select account_id as "accountId", key_hash as "keyHash", expires_at as "expiresAt"
       from web_sessions where token_hash = $1 and account_id is not null and is_test <> $2 for update`,
      [digestOf(token), mode === 'test'],
    );
    const [session] = rows;
    if (!session) return;
    const accountId = mode === 'test' ? testAccountOf(session.accountId) : session.accountId;
    const keyHash = hashKey(apiKeyOf(token, mode));
    await client.query(
      `insert into api_keys (hash, account_id, prefix, created_at, expires_at, purpose)
       values ($1, $2, 'pages', $3, $4, 'pages')`,
      [keyHash, accountId, new Date(now), session.expiresAt],
    );
    await client.query('update web_sessions set is_test = $2, key_hash = $3 where token_hash = $1', [
      digestOf(token),
      mode === 'test',
      keyHash,
    ]);
    await client.query('delete from api_keys where hash = $1', [session.keyHash]);
  });
}

/** Ends the operator sessions that were started with another token. @param credential null: without a token, all of them. */
export async function endOperatorSessions(database: Queryable, credential: Buffer | null): Promise<void> {
  await remove(database, 'is_operator and credential is distinct from $1', [credential]);
}

/** Ends the sessions of the operator except one. */
export async function endOtherOperatorSessions(database: Queryable, except: Buffer): Promise<void> {
  await remove(database, 'is_operator and token_hash <> $1', [except]);
}

export async function endSession(database: Queryable, tokenHash: Buffer): Promise<void> {
  await remove(database, 'token_hash = $1', [tokenHash]);
}

/** Ends an account's sessions except one. */
export async function endOtherSessions(
  database: Queryable,
  accountId: number,
  except: Buffer | null,
): Promise<void> {
  await remove(database, 'account_id = $1 and token_hash is distinct from $2', [accountId, except]);
}

/** Ends the sessions of a customer beyond the most there may be, those unused for longest. Skips those that another process is ending. */
async function endUnused(database: Queryable, accountId: number, except: Buffer): Promise<void> {
  const unused = `select token_hash from web_sessions where account_id = $1 and not is_operator
    order by token_hash = $2 desc, seen_at desc, created_at desc offset ${MOST_SESSIONS}`;
  const over = `select token_hash from web_sessions where token_hash in (${unused}) for update skip locked`;
  await remove(database, `token_hash in (${over})`, [accountId, except]);
}

/** Deletes expired sessions. Skips those that another process is deleting. */
async function sweep(database: Queryable, now: number): Promise<void> {
  const over = 'select token_hash from web_sessions where expires_at <= $1 for update skip locked limit 1000';
  await remove(database, `token_hash in (${over})`, [new Date(now)]);
}

async function remove(database: Queryable, condition: string, values: unknown[]): Promise<void> {
  await database.query(
    `with gone as (delete from web_sessions where ${condition} returning key_hash)
     delete from api_keys where hash in (select key_hash from gone)`,
    values,
  );
}

interface SessionRow {
  accountId: number | null;
  isTest: boolean;
  isOperator: boolean;
  credential: Buffer | null;
  createdAt: number;
  seenAt: number;
  email: string | null;
  name: string | null;
  state: string | null;
}

/** Derives the key from the token, so that it need not be stored. The token cannot be derived from the key. */
function apiKeyOf(token: string, mode: Mode = 'live'): string {
  return keyFromDigest(createHash('sha512').update(`key of the pages ${token}`).digest(), mode);
}
