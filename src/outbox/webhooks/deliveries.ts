import { z } from 'zod';
import { isTestAccount } from '../../accounts/authentication.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { firstRow } from '../../platform/db/rows.ts';
import { stringifyJson } from '../../platform/json.ts';
import { RETRY_DELAYS_MS } from '../../platform/retry-delays.ts';
import { deleteRows, MESSAGE, type Message } from '../log.ts';
import { enqueueMessages } from '../queue.ts';

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;

/** How long a delivery stays in the log after it was created, or until it has ended. */
export const KEPT_DAYS = 30;

/** The time limit of one attempt, from the name lookup to the last byte of the response. */
export const ATTEMPT_TIMEOUT_MS = 10_000;

export const TEST_TYPE = 'webhook.test';

/** How many tests of an account stay in the log, because they cost nothing. */
export const TESTS_KEPT = 100;

/** A message for the receiver of an account. */
interface WebhookEvent {
  accountId: number;
  /** In the form that `webhookUrl` returns. */
  url: string;
  /** Such as `job.completed`. */
  type: string;
  data: unknown;
  /** When the event happened, in Unix milliseconds. Default: now. */
  at?: number;
  /** Id of the message, a UUID of version 7. Default: a new one. A message whose id exists is not enqueued again. */
  id?: string;
}

/** Creates deliveries that are due immediately. Within a transaction, they exist when it commits. @returns their ids. */
export function enqueueAll(
  database: Queryable,
  events: readonly WebhookEvent[],
  now: number,
): Promise<string[]> {
  const messages = events.map(({ id, accountId, url, type: kind, at, data }) => {
    const timestamp = new Date(at ?? now).toISOString();
    const livemode = !isTestAccount(accountId);
    const payload = stringifyJson({ type: kind, timestamp, livemode, data });
    const { host } = new URL(url);
    return { id, channel: 'webhook' as const, accountId, kind, recipient: url, host, payload };
  });
  return enqueueMessages(database, messages, now);
}

/** Creates one delivery; see `enqueueAll`. @returns its id. */
export async function enqueue(database: Queryable, event: WebhookEvent, now: number): Promise<string> {
  const [id = ''] = await enqueueAll(database, [event], now);
  return id;
}

/**
 * Sends a delivery again immediately, with the same body and the same id, by which receivers recognise it. If the
 * delivery has ended, its schedule of retries restarts; if it is pending, its next attempt is due now.
 * @returns null if the account has no such delivery.
 */
export function replayDelivery(database: Database, accountId: number, id: string, now: number) {
  return firstRow<Message>(
    database,
    `update outbox set state = 'pending', finished_at = null, expires_at = null, next_attempt_at = $3,
       retries = case when state = 'pending' then retries else 0 end
     where account_id = $1 and id = $2 and channel = 'webhook' returning ${MESSAGE}`,
    [accountId, id, new Date(now)],
  );
}

/** Counts the pending tests of an account. */
export async function countPendingTests(database: Database, accountId: number): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*) from outbox where account_id = $1 and state = 'pending' and kind = '${TEST_TYPE}'`,
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/** Deletes the ended tests of an account before its newest TESTS_KEPT. */
export async function deleteOldTests(database: Database, accountId: number): Promise<void> {
  await deleteRows(
    database,
    'outbox',
    `state <> 'pending' and id in (
       select id from outbox where account_id = $2 and kind = '${TEST_TYPE}' order by id desc offset $3)`,
    [accountId, TESTS_KEPT],
  );
}

/** Times are ISO 8601. */
const moment = z.iso.datetime();

export const deliveryRulesSchema = z.object({
  timeoutSeconds: z.number(),
  retryDelaysSeconds: z.array(z.number()).describe('Seconds to wait after each failed attempt'),
  keptDays: z.int().describe('Days that deliveries stay in the log after they end'),
});

/** A delivery as its account sees it. */
export const deliverySchema = z
  .object({
    deliveryId: z.uuid().describe('Id that receivers get in the header webhook-id'),
    type: z.string(),
    url: z.string(),
    state: z.enum(DELIVERY_STATES),
    attempts: z.int(),
    nextAttemptAt: moment.nullable(),
    lastStatus: z.int().nullable(),
    lastError: z.string().nullable(),
    createdAt: moment,
    finishedAt: moment.nullable(),
    links: z.object({ self: z.string(), replay: z.string() }),
  })
  .register(SCHEMA_NAMES, { id: 'Delivery' });

export const attemptSchema = z
  .object({
    attempt: z.int(),
    at: moment,
    status: z.int().nullable(),
    error: z.string().nullable(),
    durationMs: z.number(),
    response: z.string().nullable().describe("The first KiB of the receiver's response"),
  })
  .register(SCHEMA_NAMES, { id: 'DeliveryAttempt' });

export const DELIVERY_RULES = {
  timeoutSeconds: ATTEMPT_TIMEOUT_MS / 1000,
  retryDelaysSeconds: RETRY_DELAYS_MS.map((delayMs) => delayMs / 1000),
  keptDays: KEPT_DAYS,
};

export function deliveryView({ id: deliveryId, kind: type, recipient: url, ...delivery }: Message) {
  const { state, attempts, nextAttemptAt, lastStatus, lastError, createdAt, finishedAt } = delivery;
  const self = `/api/webhooks/deliveries/${deliveryId}`;
  return {
    deliveryId,
    type,
    url,
    state,
    attempts,
    nextAttemptAt,
    lastStatus,
    lastError,
    createdAt,
    finishedAt,
    links: { self, replay: `${self}/replay` },
  };
}
