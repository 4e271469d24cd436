import type { Queryable } from '../platform/db/pool.ts';
import { MAIL_KINDS } from './kinds/index.ts';

/** How long mails are kept after their end. A notice that is still known is not sent again for the same cause. */
const KEPT_DAYS = { notices: 400, others: 30 } as const;

const NOTICES = Object.entries(MAIL_KINDS).flatMap(([name, { topic }]) =>
  topic !== null && topic !== 'tracker' ? [name] : [],
);

/** Mails whose recipients must not be stored; an older version, or no worker, has not deleted them. */
const FORGOTTEN = Object.entries(MAIL_KINDS).flatMap(([name, { isForgotten }]) =>
  isForgotten ? [name] : [],
);

/** Longer than all attempts to send a mail. */
const FORGOTTEN_DAYS = 3;

/** Deletes old mails, and tokens that have expired. */
export async function purgeMails(database: Queryable, now: number): Promise<void> {
  const before = (days: number) => new Date(now - days * 86_400_000);
  await database.query('delete from mails where finished_at < $1 and kind = any($2)', [
    ...[before(KEPT_DAYS.notices), NOTICES],
  ]);
  await database.query('delete from mails where finished_at < $1 and kind <> all($2)', [
    ...[before(KEPT_DAYS.others), NOTICES],
  ]);
  await database.query(
    'delete from mails where kind = any($2) and (finished_at is not null or created_at < $1)',
    [...[before(FORGOTTEN_DAYS), FORGOTTEN]],
  );
  await database.query('delete from email_confirmations where expires_at < $1', [new Date(now)]);
}
