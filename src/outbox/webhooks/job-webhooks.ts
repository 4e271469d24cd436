import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { ERRORS, type ErrorRecord } from '../../platform/errors.ts';
import { deleteRows } from '../log.ts';
import { enqueueAll } from './deliveries.ts';
import { tooManyOfCall } from './webhook-limits.ts';

/** A call whose end is to be sent to a webhook. */
interface WatchedJob {
  accountId: number;
  callId: string;
  /** In the form that `webhookUrl` returns. */
  url: string;
}

interface EndedCall {
  accountId: number;
  callId: string;
  url: string;
  operation: string;
  state: 'settled' | 'released';
  unitsCharged: number;
  error: ErrorRecord | null;
  finishedAt: Date;
}

const BATCH = 500;

/**
 * Requests a message when a call ends, even if it has already ended. A second request before that time sends no
 * second message.
 * @param most messages about a call, including those that were sent; null: any number.
 * @throws SoukError LIMIT_REACHED.
 */
export async function watchJob(
  database: Database,
  { accountId, callId, url }: WatchedJob,
  now: number,
  most: number | null = null,
): Promise<void> {
  const { rows } = await database.query<{ isWatched: boolean }>({
    name: 'watch-job',
    // Counting locks the row of the call, so concurrent requests do not exceed the limit.
    text: `with known as (
        select from call_webhooks where account_id = $1 and call_id = $2 and url = $3
      ), counted as (
        insert into call_webhook_counts as c (account_id, call_id, messages, created_at)
        select $1, $2, 1, $4 where not exists (select from known)
        on conflict (account_id, call_id) do update set messages = c.messages + 1
          where $5::integer is null or c.messages < $5
        returning 1
      ), watched as (
        insert into call_webhooks (account_id, call_id, url, host) select $1, $2, $3, $6 from counted on conflict do nothing
      )
      select exists (select from known) or exists (select from counted) as "isWatched"`,
    values: [accountId, callId, url, new Date(now), most, new URL(url).host],
  });
  if (!rows[0]?.isWatched) throw tooManyOfCall(most ?? 0);
}

/** Messages about a call are counted for this long, much longer than the five minutes in which identical requests join a call. */
const COUNTED_MS = DAY_MS;

/** Deletes counts of messages that are older than a day. */
export function purgeWatchCounts(database: Database, now: number): Promise<void> {
  return deleteRows(database, 'call_webhook_counts', 'created_at < $2', [new Date(now - COUNTED_MS)]);
}

/**
 * Creates a delivery for each call that has ended and has a webhook. The same transaction deletes the request for the
 * webhook, so each end is sent once, even if several processes do this at the same time or one of them stops.
 * @returns how many were created.
 */
export async function enqueueEndedJobs(database: Database, now: number): Promise<number> {
  for (let total = 0; ; ) {
    const made = await enqueueSome(database, now);
    total += made;
    if (made < BATCH) return total;
  }
}

function enqueueSome(database: Database, now: number): Promise<number> {
  return inTransaction(database, async (client) => {
    const { rows } = await client.query<EndedCall>({
      name: 'ended-watched-calls',
      text: `with ended as (
          select w.account_id, w.call_id, w.url, c.operation, c.state, c.units_charged, c.error, c.finished_at
          from call_webhooks w join calls c on c.account_id = w.account_id and c.id = w.call_id
          where c.state <> 'reserved' limit $1 for update of w skip locked
        )
        delete from call_webhooks w using ended e
        where w.account_id = e.account_id and w.call_id = e.call_id and w.url = e.url
        returning e.account_id as "accountId", e.call_id as "callId", e.url, e.operation, e.state,
          e.units_charged as "unitsCharged", e.error, e.finished_at as "finishedAt"`,
      values: [BATCH],
    });
    const events = rows.map((call) => ({
      accountId: call.accountId,
      url: call.url,
      type: 'job.completed',
      at: call.finishedAt.getTime(),
      data: jobData(call),
    }));
    await enqueueAll(client, events, now);
    return rows.length;
  });
}

/** Returns the data of the message: a part of the reply of `GET /api/jobs/{id}`. */
function jobData({ callId, operation, state, unitsCharged, error }: EndedCall) {
  return {
    jobId: callId,
    operation,
    state: state === 'settled' ? 'done' : error?.kind === 'CANCELLED' ? 'cancelled' : 'failed',
    unitsCharged,
    error: error && { code: ERRORS[error.kind].code, msg: error.message },
    links: { self: `/api/jobs/${callId}`, result: `/api/jobs/${callId}/result` },
  };
}
