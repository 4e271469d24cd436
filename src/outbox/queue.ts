import { v7 as uuid } from 'uuid';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { RETRY_DELAYS_MS } from '../platform/retry-delays.ts';

export type Channel = 'mail' | 'webhook' | 'chat';

/** A message to enqueue. */
interface NewMessage {
  /** A UUID of version 7. Default: a new one. */
  id?: string | undefined;
  channel: Channel;
  accountId: number | null;
  /** Who gets a mail; null: a webhook, or an address that may have no profile. */
  personId?: number | null;
  /** The type of an event, or the kind of a mail. */
  kind: string;
  /** A URL or an e-mail address. */
  recipient: string;
  /** Host and port of a URL; '' for mails. */
  host: string;
  payload: string;
  /** Texts that distinguish causes: each makes one mail. */
  cause?: string;
  /** When the message is deleted even if it is pending. */
  expiresAt?: Date | null;
}

/** A message that only this process may send, until `claimedUntil`. */
export interface ClaimedMessage {
  id: string;
  /** 0: none. */
  accountId: number;
  personId: number | null;
  kind: string;
  recipient: string;
  host: string;
  payload: string;
  /** How many attempts of the present schedule have failed. */
  retries: number;
  claimedUntil: Date;
  createdAt: Date;
}

/** An attempt to send a message. */
export interface Attempt {
  /** Of HTTP; null if there was none. */
  status: number | null;
  /** A sentence for the account or the operator; null if the message was accepted. */
  error: string | null;
  /** Whether another attempt is useless. */
  isFinal: boolean;
  durationMs: number;
  /** The beginning of the response; null if there was none to read. */
  response: string | null;
}

/** A message that is not sent, or that is deleted instead (`drop`). */
export interface Skipped {
  state: 'not_sent' | 'drop';
  /** Why, for the operator. */
  error: string | null;
  /** Its sealed text for the operator console. */
  shownText?: string;
}

export type Outcome = Attempt | Skipped;

export type MessageState = 'pending' | 'delivered' | 'sent' | 'failed' | 'not_sent';

/** How many messages of a channel a process sends at the same time: in total, to one host, and for one account. */
export interface SendingLimits {
  atOnce: number;
  perHost: number;
  perAccount: number;
  /** How many pending hosts of an account a claim considers. */
  hostsPerAccount: number;
}

/** Sends the messages of a channel. */
export interface Sender {
  channel: Channel;
  limits: SendingLimits;
  /** A claim ends after this time unless the attempt ends before. It is much longer than the timeout of an attempt. */
  claimMs: number;
  /** The state of a message that was accepted. */
  accepted: 'delivered' | 'sent';
  /** When a message that has ended is deleted; null: immediately. */
  expiresAt(message: ClaimedMessage, endedAt: number): Date | null;
  /** Is called after each outcome. */
  onOutcome?(message: ClaimedMessage, state: Verdict['state']): void;
  /**
   * Reads what is needed to send these messages.
   * @returns a function that sends one of them once. If it throws, the message is sent again when its claim has ended.
   */
  prepare(messages: readonly ClaimedMessage[]): Promise<(message: ClaimedMessage) => Promise<Outcome>>;
}

/** How many attempts of a message the log keeps, because a webhook can be replayed at no charge. */
export const ATTEMPTS_KEPT = 50;

/**
 * Creates messages that are due immediately. Within a transaction, they exist when it commits. A message whose id or cause
 * exists is not enqueued again.
 * @param now Unix milliseconds. Default: the time of PostgreSQL.
 * @returns their ids.
 */
export async function enqueueMessages(
  database: Queryable,
  messages: readonly NewMessage[],
  now?: number,
): Promise<string[]> {
  if (messages.length === 0) return [];
  const rows = messages.map((message) => ({ ...message, id: message.id ?? uuid() }));
  await database.query({
    name: 'enqueue-messages',
    text: `insert into outbox (id, channel, account_id, person_id, kind, recipient, host, payload, cause, expires_at, next_attempt_at,
        created_at)
      select m.id, m.channel, m."accountId", m."personId", m.kind, m.recipient, m.host, m.payload, m.cause, m."expiresAt",
        at, at
      from json_to_recordset($1) as m (id uuid, channel text, "accountId" bigint, "personId" bigint, kind text, recipient text, host text,
        payload text, cause text, "expiresAt" timestamptz), coalesce($2::timestamptz, now()) as at
      on conflict do nothing`,
    values: [JSON.stringify(rows), now === undefined ? null : new Date(now)],
  });
  return rows.map(({ id }) => id);
}

/** The state of a message after its outcome. `drop`: it is deleted. */
interface Verdict {
  state: MessageState | 'drop';
  /** null unless the message is pending. */
  nextAttemptAt: Date | null;
}

/** @param retries how many attempts failed before this one. @param now when this attempt ended. */
export function verdictOf(
  { accepted }: Pick<Sender, 'accepted'>,
  outcome: Outcome,
  retries: number,
  now: number,
): Verdict {
  const delayMs = RETRY_DELAYS_MS[retries];
  if ('state' in outcome) return { state: outcome.state, nextAttemptAt: null };
  if (outcome.error === null) return { state: accepted, nextAttemptAt: null };
  if (outcome.isFinal || delayMs === undefined) return { state: 'failed', nextAttemptAt: null };
  return { state: 'pending', nextAttemptAt: new Date(now + delayMs) };
}

/**
 * Writes an attempt into the log and updates its message, unless the claim has ended and another process may have claimed the
 * message. Recording an attempt twice counts once. Attempts before the newest ATTEMPTS_KEPT are deleted.
 * @param now when the attempt ended.
 */
export async function recordOutcome(
  database: Database,
  sender: Pick<Sender, 'accepted' | 'expiresAt'>,
  message: ClaimedMessage,
  outcome: Outcome,
  now: number,
): Promise<void> {
  const { id, claimedUntil, retries } = message;
  const { state, nextAttemptAt } = verdictOf(sender, outcome, retries, now);
  const expiresAt = sender.expiresAt(message, now);
  const finishedAt = state === 'pending' ? null : new Date(now);
  if (state === 'drop' || (finishedAt && !expiresAt)) {
    await database.query('delete from outbox where id = $1 and claimed_until = $2', [id, claimedUntil]);
    return;
  }
  if ('state' in outcome) {
    const { error, shownText = null } = outcome;
    await database.query(
      `update outbox set state = $3, next_attempt_at = null, claimed_until = null, last_error = $4, shown_text = $5,
         finished_at = $6, expires_at = $7
       where id = $1 and claimed_until = $2`,
      [id, claimedUntil, state, error, shownText, finishedAt, expiresAt],
    );
    return;
  }
  const { status, error, durationMs, response } = outcome;
  const at = new Date(now - durationMs);
  await database.query({
    name: 'record-attempt',
    text: `with numbered as (
        update outbox set attempts = attempts + 1 where id = $1 and claimed_until is distinct from $2
          and not exists (select 1 from outbox_attempts where message_id = $1 and at = $6)
        returning id, attempts
      ), judged as (
        update outbox set attempts = attempts + 1, retries = retries + 1, state = $3, next_attempt_at = $4,
          finished_at = $5, expires_at = case when $5::timestamptz is null then expires_at else $12 end,
          claimed_until = null, last_status = $7, last_error = $8
        where id = $1 and claimed_until = $2 returning id, attempts
      ), counted as (select * from numbered union all select * from judged), forgotten as (
        delete from outbox_attempts a using counted c where a.message_id = c.id and a.number <= c.attempts - $11
      )
      insert into outbox_attempts (message_id, number, at, status, error, duration_ms, response)
      select id, attempts, $6, $7, $8, $9, $10 from counted`,
    values: [
      id,
      claimedUntil,
      state,
      nextAttemptAt,
      finishedAt,
      at,
      status,
      error,
      durationMs,
      response,
      ATTEMPTS_KEPT,
      expiresAt,
    ],
  });
}
