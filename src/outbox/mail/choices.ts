import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { TOPICS, type Topic } from './kinds/content.ts';

/** A member of a live account. */
interface Chooser {
  accountId: number;
  personId: number;
}

/** Returns the topics that a member has switched off. */
export async function topicsOff(database: Queryable, { accountId, personId }: Chooser): Promise<Topic[]> {
  const { rows } = await database.query<{ off: Topic[] }>(
    'select topics_off as off from mail_choices where account_id = $1 and person_id = $2',
    [accountId, personId],
  );
  return rows[0]?.off ?? [];
}

/** Sets the topics that a member has switched off. */
export async function setTopicsOff(
  database: Queryable,
  { accountId, personId }: Chooser,
  off: readonly Topic[],
): Promise<void> {
  await database.query(
    `insert into mail_choices (account_id, person_id, topics_off, unsubscribe_key) values ($1, $2, $3, $4)
     on conflict (account_id, person_id) do update set topics_off = excluded.topics_off`,
    [accountId, personId, off, newKey()],
  );
}

/**
 * Returns the token of a link that switches off a topic. It is signed with a key of the member, works without a session and
 * does not expire, because mail programs use it long after the mail was sent.
 */
export async function unsubscribeToken(
  database: Queryable,
  { accountId, personId }: Chooser,
  topic: Topic,
): Promise<string> {
  const { rows } = await database.query<{ key: Buffer }>(
    `insert into mail_choices as c (account_id, person_id, unsubscribe_key) values ($1, $2, $3)
     on conflict (account_id, person_id) do update set unsubscribe_key = c.unsubscribe_key
     returning unsubscribe_key as key`,
    [accountId, personId, newKey()],
  );
  const about = `${accountId}.${personId}.${topic}`;
  return `${about}.${signatureOf(about, rows[0]?.key ?? newKey())}`;
}

/** The path of the page that switches off mails of a topic. */
export function unsubscribePath(token: string): string {
  return `/unsubscribe?token=${token}`;
}

/** Returns the member and the topic of a token; null if its signature is wrong. */
export async function readUnsubscribeToken(
  database: Queryable,
  token: string,
): Promise<(Chooser & { topic: Topic }) | null> {
  const [, account = '', person = '', topic = '', signature = ''] =
    /^(\d{1,15})\.(\d{1,15})\.(\w+)\.([\w-]{43})$/.exec(token) ?? [];
  if (!Object.hasOwn(TOPICS, topic)) return null;
  const { rows } = await database.query<{ key: Buffer }>(
    'select unsubscribe_key as key from mail_choices where account_id = $1 and person_id = $2',
    [Number(account), Number(person)],
  );
  const right = signatureOf(`${account}.${person}.${topic}`, rows[0]?.key ?? newKey());
  return timingSafeEqual(Buffer.from(signature), Buffer.from(right))
    ? { accountId: Number(account), personId: Number(person), topic: topic as Topic }
    : null;
}

export async function switchOff(
  database: Database,
  { accountId, personId }: Chooser,
  topic: Topic,
): Promise<void> {
  await database.query(
    `update mail_choices set topics_off = array_append(topics_off, $3)
     where account_id = $1 and person_id = $2 and $3 <> all (topics_off)`,
    [accountId, personId, topic],
  );
}

function newKey(): Buffer {
  return randomBytes(32);
}

function signatureOf(about: string, key: Buffer): string {
  return createHmac('sha256', key).update(about).digest('base64url');
}
