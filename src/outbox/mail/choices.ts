import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { TOPICS, type Topic } from './kinds/content.ts';

/** Returns the topics that an account has switched off. */
export async function topicsOff(database: Queryable, accountId: number): Promise<Topic[]> {
  const { rows } = await database.query<{ off: Topic[] }>(
    'select topics_off as off from mail_choices where account_id = $1',
    [accountId],
  );
  return rows[0]?.off ?? [];
}

/** Sets the topics that an account has switched off. */
export async function setTopicsOff(
  database: Queryable,
  accountId: number,
  off: readonly Topic[],
): Promise<void> {
  await database.query(
    `insert into mail_choices (account_id, topics_off, unsubscribe_key) values ($1, $2, $3)
     on conflict (account_id) do update set topics_off = excluded.topics_off`,
    [accountId, off, newKey()],
  );
}

/**
 * Returns the token of a link that switches off a topic. It is signed with a key of the account, works without a session and
 * does not expire, because mail programs use it long after the mail was sent.
 */
export async function unsubscribeToken(
  database: Queryable,
  accountId: number,
  topic: Topic,
): Promise<string> {
  const { rows } = await database.query<{ key: Buffer }>(
    `insert into mail_choices as c (account_id, unsubscribe_key) values ($1, $2)
     on conflict (account_id) do update set unsubscribe_key = c.unsubscribe_key returning unsubscribe_key as key`,
    [accountId, newKey()],
  );
  const about = `${accountId}.${topic}`;
  return `${about}.${signatureOf(about, rows[0]?.key ?? newKey())}`;
}

/** The path of the page that switches off mails of a topic. */
export function unsubscribePath(token: string): string {
  return `/unsubscribe?token=${token}`;
}

/** Returns the account and the topic of a token; null if its signature is wrong. */
export async function readUnsubscribeToken(
  database: Queryable,
  token: string,
): Promise<{ accountId: number; topic: Topic } | null> {
  const [, account = '', topic = '', signature = ''] = /^(\d{1,15})\.(\w+)\.([\w-]{43})$/.exec(token) ?? [];
  if (!Object.hasOwn(TOPICS, topic)) return null;
  const { rows } = await database.query<{ key: Buffer }>(
    'select unsubscribe_key as key from mail_choices where account_id = $1',
    [Number(account)],
  );
  const [given, expected] = [signature, signatureOf(`${account}.${topic}`, rows[0]?.key ?? newKey())].map(
    (text) => Buffer.from(text),
  ) as [Buffer, Buffer];
  return timingSafeEqual(given, expected) ? { accountId: Number(account), topic: topic as Topic } : null;
}

/** Switches off a topic. */
export async function switchOff(database: Database, accountId: number, topic: Topic): Promise<void> {
  await database.query(
    `update mail_choices set topics_off = array_append(topics_off, $2) where account_id = $1 and $2 <> all (topics_off)`,
    [accountId, topic],
  );
}

function newKey(): Buffer {
  return randomBytes(32);
}

function signatureOf(about: string, key: Buffer): string {
  return createHmac('sha256', key).update(about).digest('base64url');
}
