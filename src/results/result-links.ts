import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import { standingOf } from '../accounts/account-keys.ts';
import { hashKey } from '../accounts/authentication.ts';
import type { ResultMail } from '../outbox/mail/mail-sender.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow, unixMs } from '../platform/db/rows.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { SoukError } from '../platform/errors.ts';

/** What a link opens: the result of a job or batch, or a file. */
export const LINK_TARGETS = ['job', 'batch', 'file'] as const;

export type LinkTarget = (typeof LINK_TARGETS)[number];

/** The most links of an account that have not ended. */
export const MOST_LINKS = 200;

/** Mails create links up to this number only, so that there is room for others. */
const MOST_BEFORE_MAIL = 150;

/** Addresses of links begin with it. */
export const LINK_ROOT = '/files';

/** Returns the path of a link. Its last part is for programs that look at the ending of a name. */
export function linkPath(token: string, name: string): string {
  return `${LINK_ROOT}/${token}/${encodeURIComponent(name)}`;
}

/** A link that opens one result without a key. Times are Unix milliseconds. */
export interface ResultLink {
  linkId: string;
  accountId: number;
  target: LinkTarget;
  targetId: string;
  /** The operation whose result it opens. */
  operation: string;
  format: string | null;
  name: string;
  /** The key that created it; null: the pages. */
  keyId: number | null;
  createdAt: number;
  expiresAt: number;
  /** Downloads so far; each range counts. */
  opens: number;
  lastOpenedAt: number | null;
}

type NewLink = Pick<
  ResultLink,
  'accountId' | 'target' | 'targetId' | 'operation' | 'format' | 'name' | 'createdAt' | 'expiresAt'
>;

const LINK = `l.id as "linkId", l.account_id as "accountId", l.target, l.target_id as "targetId", l.operation, l.format, l.name,
  l.key_id as "keyId", ${unixMs('l.created_at')} as "createdAt", ${unixMs('l.expires_at')} as "expiresAt", l.opens,
  ${unixMs('l.last_opened_at')} as "lastOpenedAt"`;

/** The links $1 of an account that work at $2: keys, accounts and memberships end their links. */
const WORKING = `
  from result_links l join accounts a on a.id = l.account_id left join api_keys k on k.id = l.key_id
  where a.state = 'active' and l.expires_at > $2
    and (l.key_id is null or k.revoked_at is null and coalesce(k.expires_at > $2, true))
    and (l.person_id is null or exists (
      select from members m where m.person_id = l.person_id and m.account_id = coalesce(a.live_account_id, a.id)))`;

/**
 * Creates a link, in the caller's transaction.
 * @param keyHash the key of the request: a link of a customer's key ends with it, one of the pages with the membership.
 * @returns the link, and its token, which is not stored.
 * @throws SoukError LIMIT_REACHED.
 */
export async function createLink(
  client: ClientBase,
  keyHash: Buffer,
  link: NewLink,
): Promise<{ link: ResultLink; token: string }> {
  const { accountId, target, targetId, operation, format, name, createdAt, expiresAt } = link;
  const at = new Date(createdAt);
  const count = await countLinks(client, accountId, at);
  if (count >= MOST_LINKS)
    throw new SoukError('LIMIT_REACHED', {
      message: `The account has ${count} links; at most ${MOST_LINKS} are allowed. Revoke one, or wait until one expires.`,
      metadata: { limit: MOST_LINKS, of: 'links' },
      retryAfterSeconds: 60,
    });
  const token = randomBytes(32).toString('base64url');
  const created = await firstRow<ResultLink>(
    client,
    `insert into result_links as l (id, account_id, token_hash, key_id, person_id, target, target_id, operation, format, name,
       created_at, expires_at)
     select $1, $2, $3, case purpose when 'customer' then id end, case purpose when 'pages' then person_id end,
       $4, $5, $6, $7, $8, $9, $10
     from api_keys where hash = $11 returning ${LINK}`,
    [
      uuid(),
      accountId,
      hashKey(token),
      target,
      targetId,
      operation,
      format,
      name,
      at,
      new Date(expiresAt),
      keyHash,
    ],
  );
  if (!created) throw new SoukError('KEY_FORBIDDEN');
  return { link: created, token };
}

/** Returns how many links of an account work. No other is created until the caller's transaction ends. */
async function countLinks(client: ClientBase, accountId: number, at: Date): Promise<number> {
  await client.query("select pg_advisory_xact_lock(hashtextextended('souk.result-links', $1))", [accountId]);
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::integer as count ${WORKING} and l.account_id = $1`,
    [accountId, at],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Creates the link of a mail to the results of a batch, in place of that of an earlier attempt to send it. It has the id of the mail.
 * It ends with the results, with the key of the batch and with the membership of the person. Schedules of a key without limits go on
 * after its end, and so do the links of their mails.
 * @returns its path, '' if the account has too many links or the key had limits and has ended, null if the results have ended.
 */
export function createMailedLink(
  database: Database,
  { mailId, personId, facts }: ResultMail,
  now: number,
): Promise<string | null> {
  const { accountId, batchId, operation, format, fileName: name, until } = facts;
  const at = new Date(now);
  const token = randomBytes(32).toString('base64url');
  return inTransaction(database, async (client) => {
    if ((await countLinks(client, accountId, at)) >= MOST_BEFORE_MAIL) return '';
    const batch = await firstRow<{ keyId: number | null }>(
      client,
      'select key_id as "keyId" from batches where id = $1 and account_id = $2 and finished_at is not null',
      [batchId, accountId],
    );
    if (!batch || Date.parse(until) <= now) return null;
    const key = await standingOf(client, batch.keyId, now);
    if (key?.isOver && key.isLimited) return '';
    const keyId = key && !key.isOver ? batch.keyId : null;
    await client.query(
      `insert into result_links (id, account_id, token_hash, key_id, person_id, target, target_id, operation, format, name,
         created_at, expires_at)
       values ($1, $2, $3, $4, $5, 'batch', $6, $7, $8, $9, $10, $11)
       on conflict (id) do update set token_hash = excluded.token_hash, key_id = excluded.key_id`,
      [
        mailId,
        accountId,
        hashKey(token),
        keyId,
        personId,
        batchId,
        operation,
        format,
        name,
        at,
        new Date(until),
      ],
    );
    return linkPath(token, name);
  });
}

/** Lists the links of an account that work, the newest first. @param filter operations: only results of these; null: of all. */
export function listLinks(
  database: Queryable,
  accountId: number,
  filter: {
    now: number;
    operations: readonly string[] | null;
    targetId: string | null;
    before: string | null;
    limit: number;
  },
) {
  const { now, operations, targetId, before, limit } = filter;
  return allRows<ResultLink>(
    database,
    `select ${LINK} ${WORKING} and l.account_id = $1 and ($3::text[] is null or l.operation = any($3))
       and ($4::uuid is null or l.target_id = $4) and ($5::uuid is null or l.id < $5)
     order by l.id desc limit $6`,
    [accountId, new Date(now), operations, targetId, before, limit],
  );
}

/** Returns a link of an account that works. */
export function findLink(database: Queryable, accountId: number, linkId: string, now: number) {
  return firstRow<ResultLink>(database, `select ${LINK} ${WORKING} and l.account_id = $1 and l.id = $3`, [
    accountId,
    new Date(now),
    linkId,
  ]);
}

/** Ends a link. */
export async function deleteLink(database: Queryable, linkId: string): Promise<void> {
  await database.query('delete from result_links where id = $1', [linkId]);
}

/** A link that works, and the networks from which its key may be used; null: any. */
export interface WorkingLink extends ResultLink {
  networks: readonly string[] | null;
}

/** Returns the link with a token; null if it does not exist or has ended. */
export function linkOfToken(database: Queryable, token: string, now: number) {
  return firstRow<WorkingLink>(database, {
    name: 'link-of-token',
    text: `select ${LINK}, k.networks ${WORKING} and l.token_hash = $1`,
    values: [hashKey(token), new Date(now)],
  });
}

/** Counts a download. */
export async function countOpen(database: Queryable, linkId: string, now: number): Promise<void> {
  await database.query({
    name: 'count-link-open',
    text: 'update result_links set opens = opens + 1, last_opened_at = $2 where id = $1',
    values: [linkId, new Date(now)],
  });
}

/** Deletes links that have expired. */
export async function purgeLinks(database: Queryable, now: number): Promise<void> {
  await database.query('delete from result_links where expires_at < $1', [new Date(now)]);
}
