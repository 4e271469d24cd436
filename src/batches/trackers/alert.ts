import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { addressFor } from '../../accounts/account-address.ts';
import { isTestAccount, liveAccountOf } from '../../accounts/authentication.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { maskedChat } from '../../outbox/chat-message.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import { enqueueMessages } from '../../outbox/queue.ts';
import { hasWebhookRoom, type WebhookLimits } from '../../outbox/webhooks/webhook-limits.ts';
import { iso } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../platform/durations.ts';
import type { Crossing } from './check.ts';
import {
  type Condition,
  conditionKey,
  conditionSchema,
  conditionText,
  isAboutKeywords,
  valueText,
} from './condition.ts';
import { type Reason, reasonSchema, reasonText } from './screen-reason.ts';
import type { Tracker } from './tracker.ts';

/** A crossing of a condition of a tracker. */
export interface Alert extends Crossing {
  alertId: string;
  trackerId: string;
  batchId: string;
  /** The ASIN, or the id of the search term. */
  item: string;
  title: string | null;
  condition: Condition;
  /** Why a term entered or left a screen; absent in alerts about other conditions. */
  reasons?: readonly Reason[] | null;
  /** Unix milliseconds. */
  createdAt: number;
}

const value = z.union([z.number(), z.string()]).nullable();

/** An alert as its account sees it. */
export const alertSchema = z
  .object({
    alertId: z.uuid(),
    trackerId: z.uuid(),
    batchId: z.uuid().describe('The batch of the check; it is kept for a week'),
    asin: z.string().nullable().describe('null in an alert about a keyword'),
    wordId: z.int().nullable().describe('Id of the search term; null in an alert about a product'),
    title: z.string().nullable().describe('Title of the product, or the keyword'),
    condition: conditionSchema,
    before: value.describe(
      'Value at the last check that had one, in the unit of the condition; null: none, or out of stock',
    ),
    after: value.describe('Value that made the alert'),
    threshold: z.number().nullable().describe('The bound that was crossed, if the condition has one'),
    reasons: z
      .array(reasonSchema)
      .describe(
        'Why a term entered or left a screen; before, after and threshold are those of the first one',
      ),
    createdAt: z.iso.datetime(),
  })
  .register(SCHEMA_NAMES, { id: 'TrackerAlert' });

export type AlertView = z.output<typeof alertSchema>;

export function alertView({ item, createdAt, reasons, ...alert }: Alert): AlertView {
  const isKeyword = isAboutKeywords(alert.condition);
  return {
    ...alert,
    asin: isKeyword ? null : item,
    wordId: isKeyword ? Number(item) : null,
    reasons: [...(reasons ?? [])],
    createdAt: iso(createdAt),
  };
}

/** The most alerts of a tracker that are kept. */
export const MOST_ALERTS = 10_000;

/** How long alerts are kept. */
const ALERTS_LIFETIME_MS = 90 * DAY_MS;

const DELETED_TOGETHER = 1_000;

/** Inserts alerts, and deletes the oldest ones of their tracker beyond MOST_ALERTS. @returns those that are new. */
export async function insertAlerts(
  client: ClientBase,
  alerts: readonly Omit<Alert, 'alertId'>[],
): Promise<Alert[]> {
  const [first] = alerts;
  if (!first) return [];
  const named = alerts.map((alert) => ({ ...alert, alertId: uuid() }));
  const { rows } = await client.query<{ id: string }>(
    `insert into tracker_alerts (id, tracker_id, batch_id, item, condition_key, condition, title, before_value,
       after_value, threshold, reasons, created_at)
     select a.id, $2, $3, a.item, a.key, a.condition, a.title, a.before, a.after, a.threshold, a.reasons, $4
     from jsonb_to_recordset($1) as a (id uuid, item text, key text, condition jsonb, title text, before jsonb,
       after jsonb, threshold double precision, reasons jsonb)
     on conflict (tracker_id, batch_id, item, condition_key) do nothing
     returning id`,
    [JSON.stringify(named.map(rowOf)), first.trackerId, first.batchId, new Date(first.createdAt)],
  );
  await client.query(
    `delete from tracker_alerts where id in (
       select id from tracker_alerts where tracker_id = $1 order by id desc offset $2 limit $3 for update skip locked)`,
    [first.trackerId, MOST_ALERTS, DELETED_TOGETHER],
  );
  const inserted = new Set(rows.map(({ id }) => id));
  return named.filter(({ alertId }) => inserted.has(alertId));
}

function rowOf({ alertId: id, item, condition, title, before, after, threshold, reasons }: Alert) {
  return { id, item, key: conditionKey(condition), condition, title, before, after, threshold, reasons };
}

const SELECT_ALERTS = `select id as "alertId", tracker_id as "trackerId", batch_id as "batchId", item, title, condition,
  before_value as before, after_value as after, threshold, reasons, ${unixMs('created_at')} as "createdAt"`;

/**
 * Returns the first alerts of a tracker after another one, the oldest first, how many there are in all, and the id of the last.
 * @param since leaves out older ones.
 */
async function listAlertsAfter(
  database: Queryable,
  trackerId: string,
  { after, since, limit }: { after: string | null; since: Date; limit: number },
): Promise<{ alerts: Alert[]; count: number; lastId: string | null }> {
  const { rows } = await database.query<Alert & { count: number; lastId: string }>(
    `${SELECT_ALERTS}, count(*) over () as count, last_value(id) over (order by id range between unbounded preceding and unbounded following) as "lastId"
     from tracker_alerts where tracker_id = $1 and created_at > $2 and ($3::uuid is null or id > $3) order by id limit $4`,
    [trackerId, since, after, limit],
  );
  return { alerts: rows, count: rows[0]?.count ?? 0, lastId: rows[0]?.lastId ?? null };
}

/** Lists the alerts of a tracker, the newest first. */
export async function listAlerts(
  database: Database,
  trackerId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<Alert[]> {
  const { rows } = await database.query<Alert>(
    `${SELECT_ALERTS} from tracker_alerts where tracker_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
    [trackerId, before, limit],
  );
  return rows;
}

/** Deletes alerts that are older than ALERTS_LIFETIME_MS. */
export async function dropOldAlerts(database: Database, now: number): Promise<void> {
  for (;;) {
    const { rowCount } = await database.query(
      'delete from tracker_alerts where id in (select id from tracker_alerts where created_at < $1 limit $2)',
      [new Date(now - ALERTS_LIFETIME_MS), DELETED_TOGETHER],
    );
    if ((rowCount ?? 0) < DELETED_TOGETHER) return;
  }
}

/** Alerts that are older than this are not sent, for example when mails are switched on for a tracker with old alerts. */
const OLDEST_MS = DAY_MS;

const TRACKERS_AT_ONCE = 100;

/** How alerts of some time are sent together: the columns that say what was sent last, the shortest pause, and the most alerts. */
const TOGETHER = {
  email: { lastId: 'mailed_alert_id', lastAt: 'mailed_at', pauseMs: HOUR_MS, most: 100 },
  chat: { lastId: 'chat_alert_id', lastAt: 'chat_at', pauseMs: MINUTE_MS, most: 20 },
} as const;

type Together = keyof typeof TOGETHER;

/** Alerts in words, for a mail or a chat. */
export interface AlertFacts {
  trackerId: string;
  /** The path of its page. */
  page: string;
  firstAlertId: string;
  name: string;
  alerts: { title: string; text: string }[];
  /** How many further alerts are left out. */
  more: number;
}

/**
 * Queues a mail, or a message to its chat, for each tracker that has alerts since its last one: at most one mail in an hour with
 * up to 100 alerts, and one message in a minute with up to 20, and the number of the others.
 */
export async function queueAlertMessages(
  database: Database,
  limits: WebhookLimits,
  now: number,
): Promise<void> {
  for (const way of ['email', 'chat'] as const) {
    const { lastId, lastAt, pauseMs } = TOGETHER[way];
    const { rows } = await database.query<{ id: string }>(
      `select t.id from trackers t
       where '${way}' = any (t.notify) and (t.${lastAt} is null or t.${lastAt} <= $1)
         ${way === 'chat' ? 'and t.chat is not null' : ''}
         and exists (select from tracker_alerts a where a.tracker_id = t.id and a.created_at > $2
           and (t.${lastId} is null or a.id > t.${lastId}))
       limit $3`,
      [new Date(now - pauseMs), new Date(now - OLDEST_MS), TRACKERS_AT_ONCE],
    );
    for (const { id } of rows)
      await inTransaction(database, (client) => queueMessageOf(client, id, way, limits, now));
  }
}

async function queueMessageOf(
  client: ClientBase,
  trackerId: string,
  way: Together,
  limits: WebhookLimits,
  now: number,
): Promise<void> {
  const { lastId: idColumn, lastAt, pauseMs, most } = TOGETHER[way];
  // The collection of a check shares this lock until its alerts are committed, so no alert is missed between two messages.
  const { rows } = await client.query<
    Pick<Tracker, 'accountId' | 'name' | 'domain'> & { chatHost: string | null; lastAlertId: string | null }
  >(
    `select s.account_id as "accountId", s.name, t.domain, t.chat_host as "chatHost",
       t.${idColumn} as "lastAlertId"
     from trackers t join schedules s on s.id = t.id
     where t.id = $1 and (t.${lastAt} is null or t.${lastAt} <= $2) for update of t skip locked`,
    [trackerId, new Date(now - pauseMs)],
  );
  const [tracker] = rows;
  if (!tracker) return;
  const { accountId, name, domain, lastAlertId: after, chatHost } = tracker;
  const since = new Date(now - OLDEST_MS);
  const { alerts, count, lastId } = await listAlertsAfter(client, trackerId, { after, since, limit: most });
  const [first] = alerts;
  if (!first || lastId === null) return;
  const facts: AlertFacts = {
    trackerId,
    page: addressFor(accountId, `/account/trackers/${trackerId}`),
    firstAlertId: first.alertId,
    name: isTestAccount(accountId) ? `${name} (test data)` : name,
    alerts: alerts.map((alert) => lineOf(alert, domain)),
    more: count - alerts.length,
  };
  await client.query(`update trackers set ${idColumn} = $2, ${lastAt} = $3 where id = $1`, [
    trackerId,
    lastId,
    new Date(now),
  ]);
  // A test account has no members of its own.
  if (way === 'email')
    await queueMail(client, { accountId: liveAccountOf(accountId), kind: 'tracker_alerts', facts }, now);
  else if (chatHost !== null) await queueChat(client, { accountId, host: chatHost, facts }, limits, now);
}

/** Queues a message to the chat of a tracker, in place of the one before if that has ended. */
async function queueChat(
  client: ClientBase,
  { accountId, host, facts }: { accountId: number; host: string; facts: AlertFacts },
  limits: WebhookLimits,
  now: number,
): Promise<void> {
  if (!(await hasWebhookRoom(client, { accountId, url: `https://${host}` }, limits))) return;
  const { trackerId } = facts;
  const [id] = await enqueueMessages(
    client,
    [
      {
        channel: 'chat',
        accountId,
        kind: 'tracker.alert',
        recipient: maskedChat(host),
        host,
        payload: JSON.stringify(facts),
      },
    ],
    now,
  );
  await client.query(
    `with before as (select chat_message_id as id from trackers where id = $1), gone as (
       delete from outbox o using before where o.id = before.id and o.state <> 'pending')
     update trackers set chat_message_id = $2 where id = $1`,
    [trackerId, id],
  );
}

/** Returns what an alert says about its condition. */
function alertText(
  { condition, before, after, reasons }: Pick<Alert, 'condition' | 'before' | 'after' | 'reasons'>,
  domain: number,
): string {
  if (reasons && reasons.length > 0)
    return `${conditionText(condition, domain)}: ${reasons.map(reasonText).join('; ')}`;
  const [from, to] = [before, after].map((value) => valueText(condition, value, domain));
  return `${conditionText(condition, domain)}: ${to}, before: ${from}`;
}

function lineOf(alert: Alert, domain: number) {
  return { title: alert.title ?? alert.item, text: alertText(alert, domain) };
}
