import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import { isTestAccount } from '../accounts/test-accounts.ts';
import type { Database } from '../platform/db/pool.ts';
import type { ClaimedDelivery } from './claims.ts';
import type { Verdict } from './retry-schedule.ts';
import type { Outcome } from './send.ts';

/** A pool, or the caller's connection with an open transaction. */
export interface Connection {
  query: ClientBase['query'];
}

/** A message for the receiver of an account. */
export interface WebhookEvent {
  accountId: number;
  /** In the form that `webhookUrl` returns. */
  url: string;
  /** Such as `job.completed`. */
  type: string;
  data: unknown;
  /** When the event happened, in Unix milliseconds. Default: now. */
  at?: number;
  /**
   * Id of the message, a UUID of version 7. Default: a new one. A message whose id exists is not enqueued again.
   */
  id?: string;
}

/**
 * Creates deliveries that are due at once. Within a transaction, they exist when it commits.
 * @returns their ids, which receivers get as `webhook-id`.
 */
export async function enqueueAll(
  connection: Connection,
  events: readonly WebhookEvent[],
  now: number,
): Promise<string[]> {
  const ids = events.map(({ id }) => id ?? uuid());
  if (events.length === 0) return ids;
  await connection.query({
    name: 'enqueue-deliveries',
    text: `insert into webhook_deliveries (id, account_id, url, host, type, payload, next_attempt_at, created_at)
      select e.id, e.account_id, e.url, e.host, e.type, e.payload, $7, $7
      from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
        as e (id, account_id, url, host, type, payload)
      on conflict (id) do nothing`,
    values: [
      ids,
      events.map(({ accountId }) => accountId),
      events.map(({ url }) => url),
      events.map(({ url }) => new URL(url).host),
      events.map(({ type }) => type),
      events.map(({ accountId, type, at, data }) => {
        const timestamp = new Date(at ?? now).toISOString();
        return JSON.stringify({ type, timestamp, livemode: !isTestAccount(accountId), data });
      }),
      new Date(now),
    ],
  });
  return ids;
}

/** Creates one delivery; see `enqueueAll`. @returns its id. */
export async function enqueue(connection: Connection, event: WebhookEvent, now: number): Promise<string> {
  const [id = ''] = await enqueueAll(connection, [event], now);
  return id;
}

/** How many attempts of a delivery the log keeps, because a delivery can be replayed at no charge. */
export const ATTEMPTS_KEPT = 50;

/**
 * Writes an attempt into the log and updates its delivery, unless the claim has ended and another process may have
 * claimed the delivery. Recording an attempt twice counts once. Attempts before the newest ATTEMPTS_KEPT are deleted.
 * @param now when the attempt ended.
 */
export async function recordAttempt(
  database: Database,
  delivery: ClaimedDelivery,
  outcome: Outcome,
  verdict: Verdict,
  now: number,
): Promise<void> {
  const { status, error, durationMs, response } = outcome;
  await database.query({
    name: 'record-attempt',
    text: `with numbered as (
        update webhook_deliveries set attempts = attempts + 1 where id = $1 and claimed_until is distinct from $2
          and not exists (select 1 from webhook_attempts where delivery_id = $1 and at = $6)
        returning id, attempts
      ), judged as (
        update webhook_deliveries set attempts = attempts + 1, retries = retries + 1, state = $3, next_attempt_at = $4,
          finished_at = $5, claimed_until = null, last_status = $7, last_error = $8
        where id = $1 and claimed_until = $2
        returning id, attempts
      ), counted as (
        select * from numbered union all select * from judged
      ), forgotten as (
        delete from webhook_attempts a using counted c where a.delivery_id = c.id and a.number <= c.attempts - $11
      )
      insert into webhook_attempts (delivery_id, number, at, status, error, duration_ms, response)
      select id, attempts, $6, $7, $8, $9, $10 from counted`,
    values: [
      delivery.id,
      delivery.claimedUntil,
      verdict.state,
      verdict.state === 'pending' ? new Date(verdict.nextAttemptAt) : null,
      verdict.state === 'pending' ? null : new Date(now),
      new Date(now - durationMs),
      status,
      error,
      durationMs,
      response,
      ATTEMPTS_KEPT,
    ],
  });
}
