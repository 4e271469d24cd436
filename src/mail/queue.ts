import { v7 as uuid } from 'uuid';
import type { Queryable } from '../platform/db/pool.ts';
import { type FactsOf, kindNamed, type MailKind } from './kinds/index.ts';

/** A mail to the e-mail address of an account. */
export type Notice = {
  [Name in MailKind]: { accountId: number; kind: Name; facts: FactsOf<Name> };
}[MailKind];

/**
 * Queues a mail to the owner of an account. Within a transaction, it is queued when it commits. A cause makes one mail: the
 * same kind, account and facts again queue nothing.
 * @param now Unix milliseconds. Default: the time of PostgreSQL.
 */
export function queueNotice(database: Queryable, notice: Notice, now?: number): Promise<void> {
  return queue(database, { ...notice, to: null }, now);
}

/** A mail to an address, with the account that it is about; null: none, or one that does not exist any more. */
type MailTo = {
  [Name in 'confirm_new_email' | 'reset_password' | 'account_erased']: {
    accountId: number | null;
    kind: Name;
    to: string;
    facts: FactsOf<Name>;
  };
}['confirm_new_email' | 'reset_password' | 'account_erased'];

/** Queues a mail to an address that is not that of the account, or that may have no account. */
export function queueMailTo(database: Queryable, mail: MailTo, now: number): Promise<void> {
  return queue(database, mail, now);
}

async function queue(
  database: Queryable,
  mail: { accountId: number | null; kind: MailKind; to: string | null; facts: object },
  now: number | undefined,
): Promise<void> {
  const { accountId, kind, to, facts } = mail;
  const cause = `${kind} ${accountId ?? to} ${kindNamed(kind)?.causeOf(facts)}`;
  await database.query({
    name: 'queue-mail',
    text: `insert into mails (id, account_id, kind, recipient, facts, cause, next_attempt_at, created_at)
      select $1, $2::bigint, $3, coalesce($4, (select email from accounts where id = $2)), $5, $6, at, at
      from coalesce($7::timestamptz, now()) as at
      on conflict (cause) do nothing`,
    values: [
      ...[uuid(), accountId, kind, to, JSON.stringify(facts), cause],
      now === undefined ? null : new Date(now),
    ],
  });
}
