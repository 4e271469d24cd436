import type { ClientBase } from 'pg';
import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { iso } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { parseJson, stringifyJson } from '../../platform/json.ts';
import { gunzip, gzip } from '../../results/compression.ts';
import { FEED_WINDOWS, type FeedWindow } from '../read-batch.ts';
import { nextRuns, type Timing } from './cron.ts';

/** A pattern that creates batches. Times are Unix milliseconds. */
export interface Schedule extends Timing {
  scheduleId: string;
  accountId: number;
  /** The key to which it belongs, and for which its runs count; null: none, or a key of the pages. */
  keyId: number | null;
  name: string;
  paused: boolean;
  window: FeedWindow;
  onlyChanges: boolean;
  /** Whether a mail with a link to the results is sent when a run ends. Trackers mail their alerts instead. */
  mailResults: boolean;
  webhook: string | null;
  maxUnits: number | null;
  runHours: number;
  operation: string;
  itemCount: number;
  unitsQuoted: number;
  createdAt: number;
  updatedAt: number;
  nextDueAt: number | null;
}

/** Returns a schedule of an account; null if it has none with this id, or if it belongs to a tracker. */
export async function findSchedule(
  database: Queryable,
  accountId: number,
  scheduleId: string,
): Promise<Schedule | null> {
  const { rows } = await database.query<Schedule>(
    `select ${SCHEDULE} from schedules where account_id = $1 and id = $2 and ${IS_NO_TRACKER}`,
    [accountId, scheduleId],
  );
  return rows[0] ?? null;
}

/** Lists the schedules of an account without those of trackers, the newest first. @param filter operations: only theirs; null: all. */
export async function listSchedules(
  database: Database,
  accountId: number,
  filter: { operations: readonly string[] | null; before: string | null; limit: number },
): Promise<Schedule[]> {
  const { rows } = await database.query<Schedule>(
    `select ${SCHEDULE} from schedules where account_id = $1 and ($2::uuid is null or id < $2) and ${IS_NO_TRACKER}
       and ($4::text[] is null or operation = any($4))
     order by id desc limit $3`,
    [accountId, filter.before, filter.limit, filter.operations],
  );
  return rows;
}

/** Returns the ids of schedules that are due by now, the longest due first. */
export async function dueSchedules(database: Database, now: number, limit: number): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    'select id from schedules where next_due_at <= $1 order by next_due_at, id limit $2',
    [new Date(now), limit],
  );
  return rows.map(({ id }) => id);
}

/**
 * Locks a schedule until the caller's transaction ends: until then, no other process can change, run or delete it.
 * @param whenLocked whether to wait for a process that holds the lock.
 * @returns null if it does not exist, or if it is locked and `whenLocked` is `skip`.
 */
export async function lockSchedule(
  client: ClientBase,
  scheduleId: string,
  whenLocked: 'wait' | 'skip',
): Promise<Schedule | null> {
  const { rows } = await client.query<Schedule>(
    // This lock lets other transactions insert and delete rows that refer to the schedule: results of its runs are
    // collected meanwhile.
    `select ${SCHEDULE} from schedules where id = $1 for no key update ${whenLocked === 'skip' ? 'skip locked' : ''}`,
    [scheduleId],
  );
  return rows[0] ?? null;
}

/** Returns what every change of a schedule changes; null if there is no such schedule. */
export async function versionOf(database: Queryable, scheduleId: string): Promise<string | null> {
  const { rows } = await database.query<{ version: string }>(
    'select xmin::text as version from schedules where id = $1',
    [scheduleId],
  );
  return rows[0]?.version ?? null;
}

/** Inserts a new schedule. Changes nothing if the schedule exists already, because its request was repeated. */
export async function insertSchedule(
  database: Queryable,
  schedule: Schedule,
  items: readonly unknown[],
): Promise<void> {
  await database.query(
    `insert into schedules (id, account_id, name, cron, timezone, paused, feed_window, only_changes, webhook,
       max_units, run_hours, operation, item_count, units_quoted, created_at, updated_at, next_due_at, key_id, mail_results, items)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
     on conflict (id) do nothing`,
    [...valuesOf(schedule), await gzip(stringifyJson(items))],
  );
}

/** Updates a locked schedule. @param items null: they stay as they are. */
export async function updateSchedule(
  client: ClientBase,
  schedule: Schedule,
  items: readonly unknown[] | null,
): Promise<void> {
  await client.query(
    `update schedules set name = $3, cron = $4, timezone = $5, paused = $6, feed_window = $7, only_changes = $8,
       webhook = $9, max_units = $10, run_hours = $11, operation = $12, item_count = $13, units_quoted = $14,
       created_at = $15, updated_at = $16, next_due_at = $17, key_id = $18, mail_results = $19, items = coalesce($20, items)
     where account_id = $2 and id = $1`,
    [...valuesOf(schedule), items && (await gzip(stringifyJson(items)))],
  );
}

/** Sets the next time at which a locked schedule is due; null: it has no further run. */
export async function setNextDue(
  client: ClientBase,
  scheduleId: string,
  nextDueAt: number | null,
): Promise<void> {
  await client.query('update schedules set next_due_at = $2 where id = $1', [
    scheduleId,
    nextDueAt === null ? null : new Date(nextDueAt),
  ]);
}

/** Sets the key to which a locked schedule belongs. */
export async function setKey(client: ClientBase, scheduleId: string, keyId: number | null): Promise<void> {
  await client.query('update schedules set key_id = $2 where id = $1', [scheduleId, keyId]);
}

/** Returns the items of a schedule, as they were sent. */
export async function scheduleItems(client: Queryable, scheduleId: string): Promise<unknown[]> {
  return parseJson(await scheduleItemsText(client, scheduleId)) as unknown[];
}

/** Returns the items of a schedule as JSON text. It is not parsed, because a schedule may have 100,000 items. */
export async function scheduleItemsText(database: Queryable, scheduleId: string): Promise<string> {
  const { rows } = await database.query<{ items: Buffer }>('select items from schedules where id = $1', [
    scheduleId,
  ]);
  return rows[0] ? (await gunzip(rows[0].items)).toString('utf8') : '[]';
}

export async function deleteSchedule(
  database: Database,
  accountId: number,
  scheduleId: string,
): Promise<boolean> {
  const { rowCount } = await database.query('delete from schedules where account_id = $1 and id = $2', [
    accountId,
    scheduleId,
  ]);
  return rowCount === 1;
}

/** Returns whether a schedule is due at times. That of a screen is due when a week is imported. */
export function hasTimes({ cron }: Pick<Timing, 'cron'>): boolean {
  return cron !== '';
}

/** Returns the first time at which a schedule is due, from now on; null if it is due at no time. */
export function firstDueAt(schedule: Timing & { paused: boolean }, now: number): number | null {
  return schedule.paused || !hasTimes(schedule) ? null : (nextRuns(schedule, now, 1)[0] ?? null);
}

function valuesOf(schedule: Schedule): unknown[] {
  return [
    schedule.scheduleId,
    schedule.accountId,
    schedule.name,
    schedule.cron,
    schedule.timezone,
    schedule.paused,
    schedule.window,
    schedule.onlyChanges,
    schedule.webhook,
    schedule.maxUnits,
    schedule.runHours,
    schedule.operation,
    schedule.itemCount,
    schedule.unitsQuoted,
    new Date(schedule.createdAt),
    new Date(schedule.updatedAt),
    schedule.nextDueAt === null ? null : new Date(schedule.nextDueAt),
    schedule.keyId,
    schedule.mailResults,
  ];
}

/** The schedule of a tracker is changed by its tracker only. */
const IS_NO_TRACKER = 'not exists (select from trackers t where t.id = schedules.id)';

/** The columns of a schedule, for a query of `schedules`. Tables that the query joins must not have columns of these names. */
export const SCHEDULE = `id as "scheduleId", account_id as "accountId", key_id as "keyId", name, cron, timezone, paused, feed_window as window,
  only_changes as "onlyChanges", mail_results as "mailResults", webhook, max_units as "maxUnits", run_hours as "runHours", operation,
  item_count as "itemCount", units_quoted as "unitsQuoted", ${unixMs('created_at')} as "createdAt",
  ${unixMs('updated_at')} as "updatedAt", ${unixMs('next_due_at')} as "nextDueAt"`;

const moment = z.iso.datetime();

/** A schedule as its account sees it. Times are ISO 8601. */
export const scheduleSchema = z
  .object({
    scheduleId: z.uuid(),
    name: z.string(),
    cron: z.string(),
    timezone: z.string(),
    paused: z.boolean(),
    nextRuns: z.array(moment).describe('Times of the next runs; empty while the schedule is paused'),
    window: z.enum(FEED_WINDOWS),
    onlyChanges: z.boolean(),
    mailResults: z.boolean().describe('A link to the results is mailed when a run ends'),
    runHours: z.int(),
    webhook: z.string().nullable(),
    maxUnits: z.int().nullable(),
    operation: z.string(),
    items: z.int(),
    units: z.int().describe('Highest price of a run'),
    createdAt: moment,
    updatedAt: moment,
    links: z.object({ self: z.string(), runs: z.string(), run: z.string() }),
  })
  .register(SCHEMA_NAMES, { id: 'Schedule' });

export type ScheduleView = z.output<typeof scheduleSchema>;

const RUNS_SHOWN = 5;

export function scheduleView(schedule: Schedule, now: number): ScheduleView {
  const self = `/api/schedules/${schedule.scheduleId}`;
  const { name, cron, timezone, paused, window, onlyChanges, mailResults, runHours, webhook } = schedule;
  const { maxUnits, operation } = schedule;
  return {
    scheduleId: schedule.scheduleId,
    name,
    cron,
    timezone,
    paused,
    nextRuns: paused || !hasTimes(schedule) ? [] : nextRuns(schedule, now, RUNS_SHOWN).map(iso),
    window,
    onlyChanges,
    mailResults,
    runHours,
    webhook,
    maxUnits,
    operation,
    items: schedule.itemCount,
    units: schedule.unitsQuoted,
    createdAt: iso(schedule.createdAt),
    updatedAt: iso(schedule.updatedAt),
    links: { self, runs: `${self}/runs`, run: `${self}/run` },
  };
}
