import type { ClientBase } from 'pg';
import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { maskedChat } from '../../outbox/chat-message.ts';
import type { MessageState } from '../../outbox/queue.ts';
import { iso } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { DAY_MS, HOUR_MS } from '../../platform/durations.ts';
import { FEED_WINDOWS } from '../read-batch.ts';
import { countRuns, type Timing } from '../schedules/cron.ts';
import { type Run, runSchema, runView } from '../schedules/run.ts';
import { SCHEDULE, type Schedule, scheduleView } from '../schedules/schedule.ts';
import { type Condition, conditionSchema, isAboutKeywords } from './condition.ts';
import { NOTIFY_BY, type NotifyBy, type SavedScreen, type TrackedSite } from './read-tracker.ts';
import { type ScreenResult, screenResultSchema } from './screen-check.ts';

/** A schedule whose results are compared with conditions. Its id is that of the schedule. */
export interface Tracker extends Schedule {
  /** The provider's number of the site. */
  domain: number;
  conditions: Condition[];
  alertAtStart: boolean;
  hysteresisPercent: number;
  quietHours: number;
  /** Average over 52 weeks. */
  looksPerDay: number;
  /** Receives the alerts. The webhook of the schedule is unused. */
  alertWebhook: string | null;
  /** How alerts are sent. */
  notify: NotifyBy[];
  /** The incoming webhook of a chat: its address, sealed, and its host. */
  chat: { sealed: string; host: string } | null;
  /** What became of the last message to the chat. */
  lastChat: { state: MessageState; error: string | null; at: number } | null;
  /** Instead of conditions. It runs when a week is imported, and has no pattern. */
  screen: SavedScreen | null;
  lastScreen: ScreenResult | null;
  lastRun: Run | null;
}

/** Returns a tracker of an account; null if it has none with this id. */
export async function findTracker(
  database: Queryable,
  accountId: number,
  trackerId: string,
): Promise<Tracker | null> {
  const { rows } = await database.query<Tracker>(`${SELECT_TRACKERS} where account_id = $1 and id = $2`, [
    accountId,
    trackerId,
  ]);
  return rows[0] ?? null;
}

/** Lists the trackers of an account, the newest first. @param filter operations: only theirs; null: all. */
export async function listTrackers(
  database: Database,
  accountId: number,
  filter: { operations: readonly string[] | null; before: string | null; limit: number },
): Promise<Tracker[]> {
  const { rows } = await database.query<Tracker>(
    `${SELECT_TRACKERS} where account_id = $1 and ($2::uuid is null or id < $2)
       and ($4::text[] is null or operation = any($4))
     order by id desc limit $3`,
    [accountId, filter.before, filter.limit, filter.operations],
  );
  return rows;
}

/** Inserts what a tracker has in addition to its schedule. */
export async function insertTracker(client: ClientBase, tracker: Tracker): Promise<void> {
  await client.query(
    `insert into trackers (id, domain, conditions, alert_at_start, hysteresis_percent, quiet_hours, looks_per_day,
       alert_webhook, notify, chat, chat_host, screen)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    valuesOf(tracker),
  );
}

/** Updates what a tracker has in addition to its schedule. */
export async function updateTracker(client: ClientBase, tracker: Tracker): Promise<void> {
  await client.query(
    `update trackers set domain = $2, conditions = $3, alert_at_start = $4, hysteresis_percent = $5, quiet_hours = $6,
       looks_per_day = $7, alert_webhook = $8, notify = $9, chat = $10, chat_host = $11, screen = $12
     where id = $1`,
    valuesOf(tracker),
  );
}

/** Locks a tracker until the caller's transaction ends, so that no result is compared with its old conditions meanwhile. */
export async function lockTrackerForChange(client: ClientBase, trackerId: string): Promise<void> {
  await client.query('select from trackers where id = $1 for update', [trackerId]);
}

function valuesOf(tracker: Tracker): unknown[] {
  const { scheduleId, domain, conditions, alertAtStart, hysteresisPercent, quietHours } = tracker;
  return [
    scheduleId,
    domain,
    JSON.stringify(conditions),
    alertAtStart,
    hysteresisPercent,
    quietHours,
    tracker.looksPerDay,
    tracker.alertWebhook,
    tracker.notify,
    tracker.chat?.sealed ?? null,
    tracker.chat?.host ?? null,
    tracker.screen && JSON.stringify(tracker.screen),
  ];
}

const SELECT_TRACKERS = `
  select ${SCHEDULE}, domain, conditions, alert_at_start as "alertAtStart", hysteresis_percent as "hysteresisPercent",
    quiet_hours as "quietHours", looks_per_day as "looksPerDay", alert_webhook as "alertWebhook", notify, screen,
    case when chat is not null then json_build_object('sealed', chat, 'host', chat_host) end as chat,
    (select json_build_object('state', o.state, 'error', o.last_error, 'at', ${unixMs('coalesce(o.finished_at, o.created_at)')})
     from outbox o where o.id = chat_message_id) as "lastChat",
    (select states from tracker_states where tracker_id = schedules.id and item = 'result' and screen is not null) as "lastScreen",
    (select json_build_object('runId', r.id, 'dueAt', ${unixMs('r.due_at')}, 'startedAt', ${unixMs('r.started_at')},
       'trigger', r.trigger, 'reason', r.reason, 'batchId', r.batch_id,
       'state', case when r.state = 'started' and (b.id is null or b.finished_at is not null) then 'finished' else r.state end)
     from schedule_runs r left join batches b on b.id = r.batch_id
     where r.schedule_id = schedules.id order by r.id desc limit 1) as "lastRun"
  from schedules join trackers using (id)`;

const moment = z.iso.datetime();

/** A tracker as its account sees it. Times are ISO 8601. */
export const trackerSchema = z
  .object({
    trackerId: z.uuid(),
    name: z.string(),
    subject: z.enum(['products', 'keywords', 'screen']),
    domain: z.int().describe('Site'),
    items: z.int().describe('Number of products or keywords; 1 for a screen'),
    conditions: z.array(conditionSchema).describe('Empty for a screen'),
    screen: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('Parameters of /api/research/screen; null unless the tracker holds a screen'),
    lastScreen: screenResultSchema.nullable(),
    cron: z.string().nullable().describe('null for a screen, which runs when a week is imported'),
    timezone: z.string(),
    paused: z.boolean(),
    nextRuns: z.array(moment).describe('Times of the next checks; empty while the tracker is paused'),
    window: z.enum(FEED_WINDOWS),
    runHours: z.int(),
    alertAtStart: z.boolean(),
    hysteresisPercent: z.int(),
    quietHours: z.int(),
    notify: z.array(z.enum(NOTIFY_BY)).describe('How alerts are sent'),
    webhook: z.string().nullable(),
    chat: z.string().nullable().describe('Host of the incoming webhook of a chat; its address is a secret'),
    lastChat: z
      .object({ state: z.enum(['pending', 'delivered', 'failed']), error: z.string().nullable(), at: moment })
      .nullable()
      .describe('The last message to the chat; null if there was none'),
    maxUnits: z.int().nullable(),
    operation: z.string().describe('Operation of the calls of a check'),
    units: z.int().describe('Highest price of a check'),
    unitsPerDay: z.number().describe('Highest price of an average day'),
    lastRun: runSchema.nullable().describe('The last check; null before the first one'),
    createdAt: moment,
    updatedAt: moment,
    links: z.object({ self: z.string(), alerts: z.string(), batches: z.string() }),
  })
  .register(SCHEMA_NAMES, { id: 'Tracker' });

export type TrackerView = z.output<typeof trackerSchema>;

export function trackerView(tracker: Tracker, now: number): TrackerView {
  const {
    onlyChanges: _,
    mailResults: _mails,
    scheduleId: trackerId,
    ...schedule
  } = scheduleView(tracker, now);
  const { domain, conditions, alertAtStart, hysteresisPercent, quietHours, looksPerDay, lastRun } = tracker;
  const { screen, chat, lastChat } = tracker;
  const self = `/api/trackers/${trackerId}`;
  return {
    trackerId,
    ...schedule,
    cron: screen ? null : schedule.cron,
    subject: kindOf(tracker),
    domain,
    conditions,
    screen: screen && { ...screen },
    lastScreen: tracker.lastScreen,
    alertAtStart,
    hysteresisPercent,
    quietHours,
    notify: tracker.notify,
    webhook: tracker.alertWebhook,
    chat: chat && maskedChat(chat.host),
    lastChat: lastChat && {
      state: lastChat.state as 'pending' | 'delivered' | 'failed',
      error: lastChat.error,
      at: iso(lastChat.at),
    },
    unitsPerDay: Math.ceil(schedule.units * looksPerDay * 100) / 100,
    lastRun: lastRun && runView(lastRun),
    links: { self, alerts: `${self}/alerts`, batches: `/api/batches?scheduleId=${trackerId}` },
  };
}

/** Returns what a tracker tracks. */
export function kindOf({ conditions, screen }: Pick<Tracker, 'conditions' | 'screen'>): TrackedSite['kind'] {
  if (screen) return 'screen';
  return conditions.some(isAboutKeywords) ? 'keywords' : 'products';
}

const WHOLE_WEEKS_DAYS = 364;

/** Returns how many checks an average day of the next 52 weeks has. A screen has one a week. Counts each field by itself, which bounds the work. */
export function looksPerDay({ cron }: Pick<Timing, 'cron'>, now: number): number {
  if (cron === '') return 1 / 7;
  const [minute, hour, ...date] = cron.trim().split(/\s+/);
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const count = (pattern: string, periodMs: number) =>
    countRuns({ cron: pattern, timezone: 'UTC' }, today, today + periodMs);
  const checks = count(`${minute} * * * *`, HOUR_MS) * count(`0 ${hour} * * *`, DAY_MS);
  return (checks * count(`0 0 ${date.join(' ')}`, WHOLE_WEEKS_DAYS * DAY_MS)) / WHOLE_WEEKS_DAYS;
}
