import type { Database } from '../platform/db/pool.ts';
import { allRows } from '../platform/db/rows.ts';
import type { Channel, MessageState } from './queue.ts';

/** A message as the log has it. */
export interface Message {
  /** Receivers of webhooks get it as `webhook-id`. */
  id: string;
  accountId: number | null;
  kind: string;
  recipient: string;
  state: MessageState;
  attempts: number;
  nextAttemptAt: Date | null;
  lastStatus: number | null;
  lastError: string | null;
  createdAt: Date;
  finishedAt: Date | null;
}

export interface LoggedAttempt {
  attempt: number;
  at: Date;
  status: number | null;
  error: string | null;
  durationMs: number;
  response: string | null;
}

/** The columns of a `Message`. */
export const MESSAGE = `id, account_id as "accountId", kind, recipient, state, attempts,
  next_attempt_at as "nextAttemptAt", last_status as "lastStatus", last_error as "lastError", created_at as "createdAt",
  finished_at as "finishedAt"`;

/** How many deliveries of an account stay in the log, in addition to pending ones. */
const DELIVERIES_KEPT = 100_000;

const DELETED_AT_ONCE = 1_000;

/** Messages of a channel. */
interface MessagesOf {
  channel: Channel;
  /** null: of all accounts. */
  accountId: number | null;
}

/** Returns a page of messages, the newest first. @param before the id of the last message of the previous page. */
export function listMessages(
  database: Database,
  { channel, accountId }: MessagesOf,
  { state, before, limit }: { state: MessageState | null; before: string | null; limit: number },
) {
  return allRows<Message>(
    database,
    `select ${MESSAGE} from outbox
     where channel = $1 and ($2::bigint is null or account_id = $2) and ($3::outbox_state is null or state = $3)
       and ($4::uuid is null or id < $4)
     order by id desc limit $5`,
    [channel, accountId, state, before, limit],
  );
}

/** Returns a message with its content and the attempts that are kept, in their order. */
export async function findMessage(
  database: Database,
  { channel, accountId }: MessagesOf,
  id: string,
): Promise<(Message & { payload: string; shownText: string | null; log: LoggedAttempt[] }) | null> {
  const { rows } = await database.query<Message & { payload: string; shownText: string | null }>(
    `select ${MESSAGE}, payload, shown_text as "shownText" from outbox
     where id = $1 and channel = $2 and ($3::bigint is null or account_id = $3)`,
    [id, channel, accountId],
  );
  if (!rows[0]) return null;
  const { rows: log } = await database.query<LoggedAttempt>(
    `select number as attempt, at, status, error, duration_ms as "durationMs", response from outbox_attempts
     where message_id = $1 order by number`,
    [id],
  );
  return { ...rows[0], log };
}

/** Deletes the messages that have expired, and the ended deliveries of each account before its newest ones. */
export async function purgeMessages(
  database: Database,
  now: number,
  deliveriesKept = DELIVERIES_KEPT,
): Promise<void> {
  await deleteRows(database, 'outbox', 'expires_at < $2', [new Date(now)]);
  const { rows } = await database.query<{ id: number }>(
    `with recursive holders (id) as (
       (select account_id from outbox order by account_id limit 1)
       union all
       select n.account_id from holders h cross join lateral (
         select o.account_id from outbox o where o.account_id > h.id order by o.account_id limit 1) as n)
     select id from holders`,
  );
  const deliveries = `account_id = $2 and channel = 'webhook'`;
  for (const { id: accountId } of rows)
    await deleteRows(
      database,
      'outbox',
      `${deliveries} and state <> 'pending' and id <= (
         select id from outbox where ${deliveries} order by id desc offset $3 limit 1)`,
      [accountId, deliveriesKept],
    );
}

/** Deletes the rows of a table that fulfil a condition, in batches. @param values those of $2 and the following. */
export async function deleteRows(
  database: Database,
  table: 'outbox' | 'call_webhook_counts',
  condition: string,
  values: readonly unknown[],
): Promise<void> {
  for (;;) {
    const { rowCount } = await database.query(
      `delete from ${table} where ctid in (select ctid from ${table} where ${condition} limit $1)`,
      [DELETED_AT_ONCE, ...values],
    );
    if ((rowCount ?? 0) < DELETED_AT_ONCE) return;
  }
}
