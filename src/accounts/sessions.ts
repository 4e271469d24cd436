import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { firstRow, hasRow, unixMs } from '../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { digestOf } from '../platform/fingerprint.ts';
import { hashKey, keyFromDigest, modeOf } from './authentication.ts';
import { PAGE_SCOPES, type Role } from './members.ts';
import type { InstallationRole } from './people.ts';

/**
 * The cookie value of a browser that has signed in. It is derived from a secret, so the database stores nothing for it, and it
 * becomes invalid when the secret changes.
 * @param secret the stored digest of a password, or one that no other person has who signs in by OpenID Connect.
 */
export function deviceToken(secret: string): string {
  return createHmac('sha256', secret).update('known device').digest('base64url');
}

/** Whether a browser has sent the cookie value of this secret. */
export function isKnownDevice(token: string | undefined, secret: string): boolean {
  const [given, expected] = [Buffer.from(token ?? ''), Buffer.from(deviceToken(secret))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export const SESSION_COOKIE = 'souk_session';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of the person who has signed in; set for pages only. */
    session: Session | null;
  }
}

/** A session ends after this time without a request. */
const IDLE_MS = { customer: 7 * 86_400_000, staff: 12 * 3_600_000 } as const;

/** A session ends at the latest this long after its start. */
const LONGEST_MS = 30 * 86_400_000;

/** The most sessions of one person. A further one ends the session that has been unused for longest. */
export const MOST_SESSIONS = 20;

/** The time of the last request is stored at most this often. */
const SEEN_EVERY_MS = 60_000;

/** A person who has signed in. */
export interface Session {
  tokenHash: Buffer;
  personId: number;
  email: string;
  name: string;
  /** What the person may do in the console; null: nothing. */
  installationRole: InstallationRole | null;
  /** The live account whose pages were shown last, or the first of the person, active ones before others; null: the person has none. */
  lastAccountId: number | null;
  /** Whether the person has signed in by OpenID Connect. */
  isSso: boolean;
  /** The pages make calls of at most these units without showing their cost first. */
  directUnits: number;
}

/** The password has been changed, or two-factor sign-in turned on, since the password was verified. */
export class CredentialsChanged extends Error {}

/**
 * Starts a session.
 * @param who `passwordDigest`: the stored password that was verified, if there was one. `hasCode`: a code was verified, too. `isSso`: the person has signed in by OpenID Connect.
 * @returns its token for the cookie. The database stores only its digest.
 * @throws CredentialsChanged.
 */
export async function beginSession(
  database: Transactable,
  who: { personId: number; passwordDigest?: string; hasCode?: boolean; isSso?: boolean },
  now: number,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  const { personId, passwordDigest, hasCode = false, isSso = false } = who;
  await inTransaction(database, async (client) => {
    // The lock makes a change of the password, and turning two-factor sign-in on, wait for this transaction, and then end its
    // session. A change that was committed before is detected here.
    const verified = 'select 1 from passwords where person_id = $1 and hash = $2 for share';
    const needsCode = 'select 1 from two_factor where person_id = $1 and confirmed_at is not null';
    if (
      passwordDigest !== undefined &&
      (!(await hasRow(client, verified, [personId, passwordDigest])) ||
        (!hasCode && (await hasRow(client, needsCode, [personId]))))
    )
      throw new CredentialsChanged();
    await client.query(
      `insert into web_sessions (token_hash, person_id, is_sso, created_at, seen_at, expires_at)
       select $1, id, $6, $3, $3, case when installation_role is null then $4::timestamptz else $5 end
       from people where id = $2`,
      [
        digestOf(token),
        personId,
        ...[0, IDLE_MS.customer, IDLE_MS.staff].map((ms) => new Date(now + ms)),
        isSso,
      ],
    );
    await endUnused(client, personId, digestOf(token));
  });
  await sweep(database, now);
  return token;
}

/** The session of a token; null if it is unknown or expired. */
export async function findSession(database: Database, token: string, now: number): Promise<Session | null> {
  const tokenHash = digestOf(token);
  const row = await firstRow<Omit<Session, 'tokenHash'> & { createdAt: number; seenAt: number }>(database, {
    name: 'session',
    text: `select p.id as "personId", p.email, p.name, p.installation_role as "installationRole", s.is_sso as "isSso",
        p.direct_units as "directUnits",
        coalesce((select m.account_id from members m join accounts a on a.id = m.account_id
           where m.person_id = p.id and m.account_id = s.account_id and a.state = 'active'),
          (select min(m.account_id) from members m join accounts a on a.id = m.account_id
           where m.person_id = p.id and a.state = 'active'),
          (select min(m.account_id) from members m where m.person_id = p.id)) as "lastAccountId",
        ${unixMs('s.created_at')} as "createdAt", ${unixMs('s.seen_at')} as "seenAt"
      from web_sessions s join people p on p.id = s.person_id
      where s.token_hash = $1 and s.expires_at > $2`,
    values: [tokenHash, new Date(now)],
  });
  if (!row) return null;
  const { createdAt, seenAt, ...session } = row;
  if (now - seenAt > SEEN_EVERY_MS) {
    const idleMs = session.installationRole ? IDLE_MS.staff : IDLE_MS.customer;
    const expiresAt = Math.min(now + idleMs, createdAt + LONGEST_MS);
    // The keys of its pages expire with it.
    await database.query(
      `with seen as (update web_sessions set seen_at = $2, expires_at = $3 where token_hash = $1)
       update api_keys set expires_at = $3 where session = $1`,
      [tokenHash, new Date(now), new Date(expiresAt)],
    );
  }
  return { ...session, tokenHash };
}

/** The account is not active, or requires a session by OpenID Connect. */
export type Closed = 'disabled' | 'single sign-on';

/** An account whose pages a person may see. */
export interface Entered {
  /** The account whose data the pages show: a live account, or its test account. */
  accountId: number;
  /** The live account, which has the members and the purchases. */
  liveAccountId: number;
  accountName: string;
  /** Somebody with a role in the installation who is no member reads as a viewer. */
  role: Role;
  /** Whether the person is no member, but has a role in the installation. */
  isStaff: boolean;
  /** The other active accounts of the person, by id. */
  others: { id: number; name: string }[];
  /** The key with which the pages call the API for this person. */
  apiKey: string;
}

/**
 * Lets a session show the pages of an account, and creates the key with which they call the API.
 * @param onStaff called when somebody of the installation who is no member begins to read the pages of an account.
 * @param hasSso whether this installation has OpenID Connect; without it, no account requires it.
 * @returns null if the account does not exist or the person has no access to it.
 */
export async function enterAccount(
  database: Database,
  {
    session,
    token,
    accountId,
    now,
    hasSso,
  }: { session: Session; token: string; accountId: number; now: number; hasSso: boolean },
  onStaff: (liveAccountId: number) => Promise<void>,
): Promise<Entered | Closed | null> {
  const row = await firstRow<{
    liveAccountId: number;
    accountName: string;
    isActive: boolean;
    requiresSso: boolean;
    role: Role | null;
    hasKey: boolean;
    others: Entered['others'];
  }>(database, {
    name: 'enter-account',
    text: `select l.id as "liveAccountId", l.name as "accountName", l.state = 'active' as "isActive",
        l.sso_required as "requiresSso", m.role,
        exists (select from api_keys where session = $3 and account_id = a.id) as "hasKey",
        coalesce((
          select json_agg(json_build_object('id', o.id, 'name', o.name) order by o.id)
          from members n join accounts o on o.id = n.account_id
          where n.person_id = $2 and o.id <> l.id and o.state = 'active'), '[]') as others
      from accounts a join accounts l on l.id = coalesce(a.live_account_id, a.id)
      left join members m on m.account_id = l.id and m.person_id = $2
      where a.id = $1`,
    values: [accountId, session.personId, session.tokenHash],
  });
  if (!row || (row.role === null && session.installationRole === null)) return null;
  const { liveAccountId, accountName, isActive, hasKey, others } = row;
  const isStaff = row.role === null;
  if (!isActive && !isStaff) return 'disabled';
  const mayLackSso = session.isSso || isStaff || !hasSso;
  if (row.requiresSso && !mayLackSso) return 'single sign-on';
  const role = row.role ?? 'viewer';
  const apiKey = apiKeyOf(token, accountId, role);
  if (!hasKey) {
    await createPagesKey(database, session, {
      keyHash: hashKey(apiKey),
      accountId,
      liveAccountId,
      role: row.role,
      mayLackSso,
      now,
    });
    if (isStaff) await onStaff(liveAccountId);
  }
  if (session.lastAccountId !== liveAccountId && !isStaff)
    await database.query('update web_sessions set account_id = $2 where token_hash = $1', [
      session.tokenHash,
      liveAccountId,
    ]);
  return { accountId, liveAccountId, accountName, role, isStaff, others, apiKey };
}

/**
 * Creates the key of the pages of an account for a session. It waits for a change of the role, or of what the account requires,
 * after which it creates none.
 * @param role null: the person is no member, and reads as a viewer.
 */
async function createPagesKey(
  database: Database,
  session: Session,
  about: {
    keyHash: Buffer;
    accountId: number;
    liveAccountId: number;
    role: Role | null;
    mayLackSso: boolean;
    now: number;
  },
): Promise<void> {
  const { keyHash, accountId, liveAccountId, role, mayLackSso, now } = about;
  await database.query(
    `with role as (select from members where account_id = $6 and person_id = $7 and role = $8 for share),
       open as (select from accounts where id = $6 and ($9 or not sso_required) for share)
     insert into api_keys (hash, account_id, prefix, created_at, expires_at, purpose, session, person_id, scopes)
     select $1, $2, 'pages', $3, expires_at, 'pages', token_hash, person_id, $5
     from web_sessions where token_hash = $4 and ($8::text is null or exists (select from role))
       and exists (select from open)
     on conflict (hash) do nothing`,
    [
      keyHash,
      accountId,
      new Date(now),
      session.tokenHash,
      PAGE_SCOPES[role ?? 'viewer'],
      liveAccountId,
      session.personId,
      role,
      mayLackSso,
    ],
  );
}

export async function endSession(database: Queryable, tokenHash: Buffer): Promise<void> {
  await database.query('delete from web_sessions where token_hash = $1', [tokenHash]);
}

/** Ends a person's sessions except one. */
export async function endOtherSessions(
  database: Queryable,
  personId: number,
  except: Buffer | null,
): Promise<void> {
  await database.query('delete from web_sessions where person_id = $1 and token_hash is distinct from $2', [
    personId,
    except,
  ]);
}

/** Ends the sessions of a person beyond the most there may be, those unused for longest. Skips those that another process is ending. */
async function endUnused(database: Queryable, personId: number, except: Buffer): Promise<void> {
  const unused = `select token_hash from web_sessions where person_id = $1
    order by token_hash = $2 desc, seen_at desc, created_at desc offset ${MOST_SESSIONS}`;
  const over = `select token_hash from web_sessions where token_hash in (${unused}) for update skip locked`;
  await database.query(`delete from web_sessions where token_hash in (${over})`, [personId, except]);
}

/** Deletes expired sessions. Skips those that another process is deleting. */
async function sweep(database: Queryable, now: number): Promise<void> {
  const over = 'select token_hash from web_sessions where expires_at <= $1 for update skip locked limit 1000';
  await database.query(`delete from web_sessions where token_hash in (${over})`, [new Date(now)]);
}

/**
 * Derives the key for an account from the token, so that it need not be stored. The token cannot be derived from the key. Another
 * role has another key, so that no process takes it for the one with the earlier scopes.
 */
function apiKeyOf(token: string, accountId: number, role: Role): string {
  const digest = createHash('sha512').update(`key of the pages of ${accountId} as ${role} ${token}`).digest();
  return keyFromDigest(digest, modeOf(accountId));
}
