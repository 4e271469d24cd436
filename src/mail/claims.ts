import type { Database } from '../platform/db/pool.ts';
import type { Topic } from './kinds/content.ts';
import type { Verdict } from './verdict.ts';

/** A mail that only this process may send, until `claimedUntil`. */
export interface ClaimedMail {
  id: string;
  accountId: number | null;
  kind: string;
  recipient: string;
  /** JSON. */
  facts: string;
  /** How many attempts have failed. */
  tries: number;
  claimedUntil: Date;
  /** The account's owner; null without an account. */
  name: string | null;
  isConfirmed: boolean;
  isActive: boolean;
  topicsOff: Topic[];
}

/** A claim ends after this time unless the attempt ends before. It is much longer than the timeout of an attempt. */
export const CLAIM_MS = 300_000;

/** Claims due mails, the longest due first. Concurrent processes claim different ones. */
export async function claimMails(database: Database, limit: number, now: number): Promise<ClaimedMail[]> {
  const { rows } = await database.query<ClaimedMail>({
    name: 'claim-mails',
    text: `with due as (
        select id from mails
        where state = 'pending' and next_attempt_at <= $1 and (claimed_until is null or claimed_until <= $1)
        order by next_attempt_at, id limit $2 for update skip locked
      ), claimed as (
        update mails m set claimed_until = $3 from due where m.id = due.id returning m.*
      )
      select m.id, m.account_id as "accountId", m.kind, m.recipient, m.facts, m.tries, m.claimed_until as "claimedUntil",
        a.name, a.email_confirmed_at is not null as "isConfirmed", a.state is not distinct from 'active' as "isActive",
        coalesce(c.topics_off, '{}') as "topicsOff"
      from claimed m left join accounts a on a.id = m.account_id left join mail_choices c on c.account_id = m.account_id`,
    values: [new Date(now), limit, new Date(now + CLAIM_MS)],
  });
  return rows;
}

/**
 * Records an attempt, unless the claim has ended and another process may have claimed the mail. `drop` deletes the mail.
 * @param shownText the sealed text, for the operator console. @param now when the attempt ended.
 */
export async function recordMail(
  database: Database,
  { id, claimedUntil }: ClaimedMail,
  verdict: Verdict,
  shownText: string | null,
  now: number,
): Promise<void> {
  if (verdict.state === 'drop') {
    await database.query('delete from mails where id = $1 and claimed_until = $2', [id, claimedUntil]);
    return;
  }
  const isPending = verdict.state === 'pending';
  await database.query({
    name: 'record-mail',
    text: `update mails set state = $3, next_attempt_at = $4, finished_at = $5, last_error = $6, shown_text = $7,
        tries = tries + $8, claimed_until = null
      where id = $1 and claimed_until = $2`,
    values: [
      ...[id, claimedUntil, verdict.state],
      isPending ? new Date(verdict.nextAttemptAt) : null,
      isPending ? null : new Date(now),
      ...[verdict.error, shownText, verdict.state === 'not_sent' ? 0 : 1],
    ],
  });
}
