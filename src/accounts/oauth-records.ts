import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { firstRow, hasRow } from '../platform/db/rows.ts';
import { digestOf } from '../platform/fingerprint.ts';
import type { SecretBox } from '../platform/secret-box.ts';

/** A record as the authorization server has it, without its id. */
type Payload = Record<string, unknown>;

interface RecordDeps {
  database: Queryable;
  clock: Pick<Clock, 'now'>;
  /** Seals what the server has to use again: secrets of clients, and the code of a device whose request is open. */
  secretBox: SecretBox;
  onReuse(): Error;
}

/** How long a client stays registered without a connection, and after the end of its last connection. */
const UNUSED_CLIENT_SECONDS = 86_400;
const CLIENT_KEPT_DAYS = 30;

const SEALED = ['client_secret', 'deviceCode', 'jti'] as const;

/** How many refresh tokens of its connection came before a refresh token. */
const ROTATIONS = "coalesce((payload ->> 'rotations')::integer, 0)";

/** Fields of a session that name the person. Every request of a client asks again, so that the session of the pages decides. */
const OF_PERSON = ['accountId', 'loginTs', 'authorizations'];

/**
 * Opens the records of one kind, such as `AccessToken`: what `oidc-provider` calls an adapter. A record that has expired, or whose
 * connection has ended, is not found.
 */
export function openOAuthRecords({ database, clock, secretBox, onReuse }: RecordDeps, kind: string) {
  return {
    /**
     * @param seconds its lifetime. Default: that of a client that has no connection yet.
     * @throws what `onReuse` returns for an access token whose refresh token was used meanwhile.
     */
    async upsert(id: string, payload: Payload, seconds = UNUSED_CLIENT_SECONDS) {
      const { grantId = null, userCode, uid, gty = '' } = payload as Partial<Record<string, string>>;
      const now = clock.now();
      const { rowCount } = await database.query(
        // The earlier refresh tokens of a connection are used up together with the new access token: then a refresh that has failed
        // can be repeated, and of those at the same time one succeeds.
        `with used as (
           update oauth_records set consumed_at = $8
           where $9 and kind = 'RefreshToken' and grant_id = $4 and consumed_at is null and ${ROTATIONS} < (
             select max(${ROTATIONS}) from oauth_records where kind = 'RefreshToken' and grant_id = $4)
           returning id)
         insert into oauth_records (kind, id, payload, grant_id, user_code, uid, expires_at)
         select $1, $2::bytea, $3::json, $4, $5::bytea, $6::bytea, $7::timestamptz
         where not $9 or exists (select from used)
         on conflict (kind, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
           user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`,
        [
          kind,
          digestOf(id),
          JSON.stringify(stored(kind, payload, secretBox)),
          kind === 'Grant' ? id : grantId,
          userCode === undefined ? null : digestOf(userCode),
          uid === undefined ? null : digestOf(uid),
          new Date(now + seconds * 1000),
          new Date(now),
          kind === 'AccessToken' && /\brefresh_token$/.test(gty),
        ],
      );
      if (rowCount === 0) throw onReuse();
    },
    find: (id: string) => findBy('id', id, id),
    findByUserCode: (userCode: string) => findBy('user_code', userCode),
    findByUid: (uid: string) => findBy('uid', uid),
    /**
     * Consumes a code. A refresh token is consumed with the access token that it gives.
     * @throws what `onReuse` returns if it was consumed already, so that a code works once even for requests at the same time.
     */
    async consume(id: string) {
      if (kind === 'RefreshToken') return;
      const { rowCount } = await database.query(
        'update oauth_records set consumed_at = $3 where kind = $1 and id = $2 and consumed_at is null',
        [kind, digestOf(id), new Date(clock.now())],
      );
      if (rowCount === 0) throw onReuse();
    },
    async destroy(id: string) {
      await database.query('delete from oauth_records where kind = $1 and id = $2', [kind, digestOf(id)]);
    },
    async revokeByGrantId(grantId: string) {
      // The end of a grant ends its connection. The server revokes its records of each kind one after the other.
      await database.query(
        `with revoked as (delete from oauth_records where grant_id = $1 and kind = $2)
         update api_keys k set revoked_at = coalesce(k.revoked_at, $3) from connections c where c.grant_id = $1 and k.id = c.key_id`,
        [grantId, kind, new Date(clock.now())],
      );
    },
  };

  async function findBy(
    column: 'id' | 'user_code' | 'uid',
    value: string,
    id?: string,
  ): Promise<Payload | undefined> {
    const row = await firstRow<{ payload: Payload; consumed: number | null }>(
      database,
      `select payload, extract(epoch from consumed_at)::bigint as consumed from oauth_records r
       where kind = $1 and ${column} = $2 and expires_at > $3 and not exists (
         select from connections c join api_keys k on k.id = c.key_id
         where c.grant_id = r.grant_id and (k.revoked_at is not null or k.expires_at <= $3))`,
      [kind, digestOf(value), new Date(clock.now())],
    );
    if (!row) return undefined;
    const { payload, consumed } = row;
    for (const name of SEALED) {
      const { [name]: sealed } = payload;
      if (typeof sealed === 'string') payload[name] = secretBox.open(sealed, name);
    }
    return {
      ...payload,
      ...(id === undefined ? {} : { jti: id }),
      ...(consumed === null ? {} : { consumed }),
    };
  }
}

/** Returns what is stored of a record: not its id, and no secret in clear if there is a SECRET_KEY. */
function stored(kind: string, payload: Payload, secretBox: SecretBox): Payload {
  // A person finds the code of a device by another one, and then it is saved again under its id.
  const left = kind === 'DeviceCode' ? [] : kind === 'Session' ? [...OF_PERSON, 'jti'] : ['jti'];
  const rest = Object.fromEntries(Object.entries(payload).filter(([name]) => !left.includes(name)));
  for (const name of SEALED) {
    const { [name]: secret } = rest;
    if (typeof secret === 'string') rest[name] = secretBox.seal(secret, name);
  }
  return rest;
}

/** The key to which an access token leads. */
export interface TokenKey {
  keyHash: Buffer;
  accountId: number;
  /** Unix milliseconds. */
  expiresAt: number;
}

/**
 * Finds the key of an access token. The key may have been revoked or have expired.
 * @param audience this service, for which the token must have been issued. @returns null if the token is unknown or has expired.
 */
export function findTokenKey(
  database: Database,
  tokenHash: Buffer,
  { audience, now }: { audience: string; now: number },
) {
  return firstRow<TokenKey>(database, {
    name: 'find-token-key',
    text: `select k.hash as "keyHash", k.account_id as "accountId", (extract(epoch from r.expires_at) * 1000)::bigint as "expiresAt"
      from oauth_records r
      join connections c on c.grant_id = r.grant_id
      join api_keys k on k.id = c.key_id
      where r.kind = 'AccessToken' and r.id = $1 and r.expires_at > $2 and r.payload ->> 'aud' = $3`,
    values: [tokenHash, new Date(now), audience],
  });
}

/** Keeps the registered client of a connection until some time after the end of the connection. */
export async function keepClient(database: Queryable, keyId: number): Promise<void> {
  await database.query(
    `update oauth_records r set expires_at = greatest(r.expires_at, k.expires_at + make_interval(days => $2))
     from connections c join api_keys k on k.id = c.key_id
     where c.key_id = $1 and r.kind = 'Client' and r.id = sha256(convert_to(c.client_id, 'UTF8'))`,
    [keyId, CLIENT_KEPT_DAYS],
  );
}

/** How long a refresh token that was used is remembered, so that its reuse ends the connection. */
const REUSE_NOTICED_DAYS = 30;

/** Deletes records that have expired, and those of connections that have ended. */
export async function purgeOAuthRecords(database: Queryable, now: Date): Promise<void> {
  await database.query('delete from oauth_records where expires_at < $1', [now]);
  await database.query(
    'delete from oauth_records where consumed_at < $1::timestamptz - make_interval(days => $2)',
    [now, REUSE_NOTICED_DAYS],
  );
  await database.query(
    `delete from oauth_records r using connections c, api_keys k
     where r.grant_id = c.grant_id and k.id = c.key_id and (k.revoked_at < $1 or k.expires_at < $1)`,
    [now],
  );
}

/** Notes that a person has decided on the request of a client. @returns false if the person has decided before. */
export function decideOnce(database: Queryable, requestId: string, now: number) {
  return hasRow(
    database,
    `update oauth_records set consumed_at = $2 where kind = 'Interaction' and id = $1 and consumed_at is null`,
    [digestOf(requestId), new Date(now)],
  );
}

/** Returns whether a client has connections that may still work. */
export async function isClientConnected(database: Queryable, clientId: string): Promise<boolean> {
  const { rows } = await database.query<{ is: boolean }>(
    `select exists (select from connections c join api_keys k on k.id = c.key_id
       where c.client_id = $1 and k.revoked_at is null) as is`,
    [clientId],
  );
  return rows[0]?.is ?? false;
}
