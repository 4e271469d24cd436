import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import type { Database } from '../db/pool.ts';
import type { Verdict } from './retry-schedule.ts';
import type { Outcome } from './send.ts';

/** A pool, or a connection with a transaction of the caller's. */
export interface Connection {
  query: ClientBase['query'];
}

/** Something to tell an account's receiver. */
export interface WebhookEvent {
  accountId: number;
  /** As `webhookUrl` gives it. */
  url: string;
  /** Such as `job.completed`. */
  type: string;
  data: unknown;
  /** When it happened, in Unix milliseconds; now unless given. */
  at?: number;
  /** Of the message, a version 7 UUID; a new one unless given. An id that is there already is not enqueued again. */
  id?: string;
}

/** A delivery that this process alone may send, until `claimedUntil`. */
export interface ClaimedDelivery {
  id: string;
  accountId: number;
  url: string;
  host: string;
  payload: string;
  /** How many attempts of the present schedule have failed. */
  retries: number;
  claimedUntil: Date;
}

/** How long a process may be silent about a delivery it sends before another sends it: far beyond an attempt's timeout. */
export const CLAIM_MS = 60_000;

/**
 * Makes deliveries, due at once. On a connection with an open transaction they are there when it commits, and only then.
 * @returns their ids: what receivers see as `webhook-id`.
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
      events.map(({ type, at, data }) =>
        JSON.stringify({ type, timestamp: new Date(at ?? now).toISOString(), data }),
      ),
      new Date(now),
    ],
  });
  return ids;
}

/** Makes one delivery; see `enqueueAll`. @returns its id. */
export async function enqueue(connection: Connection, event: WebhookEvent, now: number): Promise<string> {
  const [id = ''] = await enqueueAll(connection, [event], now);
  return id;
}

/** How many deliveries a process sends at a time: in all, to one host, and for one account. */
export interface SendingLimits {
  atOnce: number;
  perHost: number;
  perAccount: number;
}

/**
 * Claims deliveries that are due, the longest due first, as many as the limits allow beside those under way. Whoever else
 * claims at the same time is given others.
 */
export async function claimDue(
  database: Database,
  underWay: readonly Pick<ClaimedDelivery, 'accountId' | 'host'>[],
  { atOnce, perHost, perAccount }: SendingLimits,
  now: number,
): Promise<ClaimedDelivery[]> {
  const { rows } = await database.query<ClaimedDelivery>({
    name: 'claim-deliveries',
    // One step through the index for each receiver that anything is pending for, however much that is.
    text: `with recursive receivers as (
        (select account_id, host from webhook_deliveries where state = 'pending' order by account_id, host limit 1)
        union all
        select n.account_id, n.host from receivers r cross join lateral (
          select d.account_id, d.host from webhook_deliveries d
          where d.state = 'pending' and (d.account_id, d.host) > (r.account_id, r.host)
          order by d.account_id, d.host limit 1) as n
      ),
      busy as (select * from unnest($1::bigint[], $2::text[]) as b (account_id, host)),
      due as (
        select d.* from receivers r cross join lateral (
          select d.id, d.account_id, d.host, d.next_attempt_at from webhook_deliveries d
          where d.state = 'pending' and d.account_id = r.account_id and d.host = r.host
            and d.next_attempt_at <= $6 and (d.claimed_until is null or d.claimed_until <= $6)
          order by d.next_attempt_at limit $4) as d
      ),
      by_host as (
        select *, row_number() over (partition by host order by next_attempt_at, id)
          + (select count(*) from busy b where b.host = due.host) as place
        from due
      ),
      by_account as (
        select id, next_attempt_at, row_number() over (partition by account_id order by next_attempt_at, id)
          + (select count(*) from busy b where b.account_id = h.account_id) as place
        from by_host h where place <= $4
      ),
      chosen as (select id from by_account where place <= $5 order by next_attempt_at, id limit $3),
      locked as (
        select id from webhook_deliveries
        where id in (select id from chosen) and state = 'pending' and next_attempt_at <= $6
          and (claimed_until is null or claimed_until <= $6)
        for update skip locked
      )
      update webhook_deliveries d set claimed_until = $7 from locked where d.id = locked.id
      returning d.id, d.account_id as "accountId", d.url, d.host, d.payload, d.retries, d.claimed_until as "claimedUntil"`,
    values: [
      underWay.map(({ accountId }) => accountId),
      underWay.map(({ host }) => host),
      atOnce - underWay.length,
      perHost,
      perAccount,
      new Date(now),
      new Date(now + CLAIM_MS),
    ],
  });
  return rows;
}

/**
 * Writes an attempt into the log, and what it means for its delivery, unless the claim has run out and the delivery is
 * another process's business by now. Written twice, it counts once.
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
      )
      insert into webhook_attempts (delivery_id, number, at, status, error, duration_ms, response)
      select id, attempts, $6, $7, $8, $9, $10 from (select * from numbered union all select * from judged) as a`,
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
    ],
  });
}
