import type { ClientBase } from 'pg';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { addressFor } from '../../accounts/account-address.ts';
import { isTestAccount, liveAccountOf } from '../../accounts/authentication.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS, HOUR_MS } from '../../platform/durations.ts';
import type { Crossing } from './check.ts';
import {
  type Condition,
  conditionKey,
  conditionSchema,
  conditionText,
  isAboutKeywords,
  valueText,
} from './condition.ts';

/** A crossing of a condition of a tracker. */
export interface Alert extends Crossing {
  alertId: string;
  trackerId: string;
  batchId: string;
  /** The ASIN, or the id of the search term. */
  item: string;
  title: string | null;
  condition: Condition;
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
    createdAt: z.iso.datetime(),
  })
  .register(SCHEMA_NAMES, { id: 'TrackerAlert' });

export type AlertView = z.output<typeof alertSchema>;

export function alertView({ item, createdAt, ...alert }: Alert): AlertView {
  const isKeyword = isAboutKeywords(alert.condition);
  const { alertId, trackerId, batchId, title, condition, before, after, threshold } = alert;
  return {
    alertId,
    trackerId,
    batchId,
    asin: isKeyword ? null : item,
    wordId: isKeyword ? Number(item) : null,
    title,
    condition,
    before,
    after,
    threshold,
    createdAt: new Date(createdAt).toISOString(),
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
       after_value, threshold, created_at)
     select a.id, $2, $3, a.item, a.key, a.condition, a.title, a.before, a.after, a.threshold, $4
     from jsonb_to_recordset($1) as a (id uuid, item text, key text, condition jsonb, title text, before jsonb,
       after jsonb, threshold double precision)
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

function rowOf({ alertId, item, condition, title, before, after, threshold }: Alert) {
  return { id: alertId, item, key: conditionKey(condition), condition, title, before, after, threshold };
}

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
    `select id as "alertId", tracker_id as "trackerId", batch_id as "batchId", item, title, condition,
       before_value as before, after_value as after, threshold, ${unixMs('created_at')} as "createdAt",
       count(*) over () as count, last_value(id) over (order by id range between unbounded preceding and unbounded following) as "lastId"
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
    `select id as "alertId", tracker_id as "trackerId", batch_id as "batchId", item, title, condition,
       before_value as before, after_value as after, threshold, ${unixMs('created_at')} as "createdAt"
     from tracker_alerts where tracker_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
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

/** A tracker sends at most one mail in this time. */
const PAUSE_MS = HOUR_MS;

/** Alerts that are older than this are not sent, for example when mails are switched on for a tracker with old alerts. */
const OLDEST_MS = DAY_MS;

const ALERTS_PER_MAIL = 100;
const TRACKERS_AT_ONCE = 100;

interface MailingTracker {
  trackerId: string;
  accountId: number;
  name: string;
  domain: number;
  lastAlertId: string | null;
}

/**
 * Queues a mail for each tracker that sends e-mail and has alerts since its last mail, at most one in an hour. A mail has up
 * to 100 alerts, and the number of the others.
 */
export async function queueAlertMails(database: Database, now: number): Promise<void> {
  const { rows } = await database.query<{ id: string }>(
    `select t.id from trackers t
     where 'email' = any (t.notify) and (t.mailed_at is null or t.mailed_at <= $1)
       and exists (select from tracker_alerts a where a.tracker_id = t.id and a.created_at > $2
         and (t.mailed_alert_id is null or a.id > t.mailed_alert_id))
     limit $3`,
    [new Date(now - PAUSE_MS), new Date(now - OLDEST_MS), TRACKERS_AT_ONCE],
  );
  for (const { id } of rows) await inTransaction(database, (client) => queueMailOf(client, id, now));
}

async function queueMailOf(client: ClientBase, trackerId: string, now: number): Promise<void> {
  // The collection of a check shares this lock until its alerts are committed, so no alert is missed between two mails.
  const { rows } = await client.query<MailingTracker>(
    `select t.id as "trackerId", s.account_id as "accountId", s.name, t.domain, t.mailed_alert_id as "lastAlertId"
     from trackers t join schedules s on s.id = t.id
     where t.id = $1 and (t.mailed_at is null or t.mailed_at <= $2) for update of t skip locked`,
    [trackerId, new Date(now - PAUSE_MS)],
  );
  const [tracker] = rows;
  if (!tracker) return;
  const { accountId, name, domain, lastAlertId } = tracker;
  const since = new Date(now - OLDEST_MS);
  const { alerts, count, lastId } = await listAlertsAfter(client, trackerId, {
    after: lastAlertId,
    since,
    limit: ALERTS_PER_MAIL,
  });
  const [first] = alerts;
  if (!first || lastId === null) return;
  const facts = {
    trackerId,
    page: addressFor(accountId, `/account/trackers/${trackerId}`),
    firstAlertId: first.alertId,
    name: isTestAccount(accountId) ? `${name} (test data)` : name,
    alerts: alerts.map((alert) => lineOf(alert, domain)),
    more: count - alerts.length,
  };
  // A test account has no members of its own.
  await queueMail(client, { accountId: liveAccountOf(accountId), kind: 'tracker_alerts', facts }, now);
  await client.query('update trackers set mailed_alert_id = $2, mailed_at = $3 where id = $1', [
    trackerId,
    lastId,
    new Date(now),
  ]);
}

function lineOf({ item, title, condition, before, after }: Alert, domain: number) {
  const [from, to] = [before, after].map((value) => valueText(condition, value, domain));
  return { title: title ?? item, text: `${conditionText(condition, domain)}: ${to}, before: ${from}` };
}
