import type { ClientBase } from 'pg';
import { addressFor } from '../../accounts/account-address.ts';
import { isTestAccount, liveAccountOf } from '../../accounts/authentication.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS, HOUR_MS } from '../../platform/durations.ts';
import { type Alert, listAlertsAfter } from './alert.ts';
import { conditionText, valueText } from './condition.ts';

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
