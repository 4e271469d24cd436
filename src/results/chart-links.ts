import { randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import { hashKey } from '../accounts/authentication.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow, hasRow, unixMs } from '../platform/db/rows.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { DAY_MS } from '../platform/durations.ts';
import { SoukError } from '../platform/errors.ts';

/** The most links of an account that have not ended. */
export const MOST_CHART_LINKS = 100;

/** A chart of ten products and a year has about 100 KB. */
const MOST_BYTES = 256 * 1024;

/** A link that shows a chart without an account. Times are Unix milliseconds. */
export interface ChartLink {
  id: string;
  title: string;
  createdAt: number;
  expiresAt: number;
}

const LINK = `l.id, l.title, ${unixMs('l.created_at')} as "createdAt", ${unixMs('l.expires_at')} as "expiresAt"`;

/** The links that work at $1: they end with the account, and with the membership of the person who created them. */
const WORKING = `
  from chart_links l join accounts a on a.id = l.account_id
  where l.expires_at > $1 and a.state = 'active' and exists (
    select from members m where m.person_id = l.person_id and m.account_id = coalesce(a.live_account_id, a.id))`;

/** Creates a link that works for some days. @returns its token, which is not stored. @throws SoukError LIMIT_REACHED. */
export async function createChartLink(
  database: Database,
  owner: { accountId: number; personId: number },
  { title, content, days }: { title: string; content: string; days: number },
  now: number,
): Promise<{ id: string; token: string; expiresAt: number }> {
  if (Buffer.byteLength(content) > MOST_BYTES)
    throw new SoukError('VALIDATION_FAILED', {
      message: 'This chart is too large for a link. Choose a shorter period.',
    });
  const link = { id: uuid(), token: randomBytes(32).toString('base64url'), expiresAt: now + days * DAY_MS };
  const { accountId, personId } = owner;
  await inTransaction(database, async (client) => {
    await client.query("select pg_advisory_xact_lock(hashtextextended('souk.chart-links', $1))", [accountId]);
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::integer as count ${WORKING} and l.account_id = $2`,
      [new Date(now), accountId],
    );
    if ((rows[0]?.count ?? 0) >= MOST_CHART_LINKS)
      throw new SoukError('LIMIT_REACHED', {
        message: `The account has ${MOST_CHART_LINKS} links to charts. Revoke one, or wait until one expires.`,
        metadata: { limit: MOST_CHART_LINKS, of: 'chartLinks' },
        retryAfterSeconds: 3_600,
      });
    await client.query(
      `insert into chart_links (id, account_id, person_id, token_hash, title, content, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        link.id,
        accountId,
        personId,
        hashKey(link.token),
        title,
        content,
        new Date(now),
        new Date(link.expiresAt),
      ],
    );
  });
  return link;
}

/** Returns the links of an account that work, the newest first. */
export function listChartLinks(database: Queryable, accountId: number, now: number) {
  return allRows<ChartLink>(
    database,
    `select ${LINK} ${WORKING} and l.account_id = $2 order by l.id desc limit ${MOST_CHART_LINKS}`,
    [new Date(now), accountId],
  );
}

/** Ends a link of an account. @returns false if the account has no such link. */
export function revokeChartLink(database: Queryable, accountId: number, id: string) {
  return hasRow(database, 'delete from chart_links where account_id = $1 and id = $2', [accountId, id]);
}

/** Returns the chart with a token; null if its link does not exist or has ended. */
export async function chartOfToken(
  database: Queryable,
  token: string,
  now: number,
): Promise<(ChartLink & { content: string }) | null> {
  if (!/^[\w-]{43}$/.test(token)) return null;
  return firstRow<ChartLink & { content: string }>(database, {
    name: 'chart-of-token',
    text: `select ${LINK}, l.content ${WORKING} and l.token_hash = $2`,
    values: [new Date(now), hashKey(token)],
  });
}

/** Deletes links that have expired. */
export async function purgeChartLinks(database: Queryable, at: Date): Promise<void> {
  await database.query('delete from chart_links where expires_at < $1', [at]);
}
