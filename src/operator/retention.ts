import { dropWeek } from '../brand-analytics/import/drop-week.ts';
import { siteOfDomain } from '../operations/brand-analytics/keywords/sites.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import type { RetentionSettings } from './retention-settings.ts';

/** Partitions are created for this month and this many further months. */
const MONTHS_AHEAD = 2;

/** The longest period that the command `usage` shows. */
const USAGE_DAYS = 3_650;
const NOTES_KEPT_DAYS = 400;
const DAY_MS = 86_400_000;

export interface RetentionDeps {
  database: Database;
  log: Logger;
  settings: RetentionSettings;
}

/**
 * Creates partitions of the next months, and deletes what is older than the settings allow. One process at a time does it;
 * others return at once. Months are those of PostgreSQL's clock, or of `now` if that is earlier, so that a process whose
 * clock is ahead deletes nothing too early.
 */
export async function retain(deps: RetentionDeps, now: number): Promise<void> {
  const client = await deps.database.connect();
  let isBroken = true;
  try {
    const { rows } = await client.query<{ isHolder: boolean; now: Date }>(
      `select pg_try_advisory_lock(hashtext('souk.retention')) as "isHolder", least(now(), $1::timestamptz) as now`,
      [new Date(now)],
    );
    const [row] = rows;
    if (row?.isHolder) {
      await retainAll(client, deps, row.now);
      await client.query("select pg_advisory_unlock(hashtext('souk.retention'))");
    }
    isBroken = false;
  } finally {
    // Closing a connection releases its lock.
    client.release(isBroken);
  }
}

async function retainAll(
  client: Queryable,
  { database, log, settings }: RetentionDeps,
  now: Date,
): Promise<void> {
  const notes = [
    ...(await addMonths(client)),
    ...(await dropCallMonths(client, monthsBefore(now, settings.callMonths))),
    ...(settings.ledgerMonths === 0
      ? []
      : await foldLedger(client, monthsBefore(now, settings.ledgerMonths))),
    ...(await dropWeeks(database, settings.reportWeeks + 1)),
  ];
  const daysBefore = (days: number) => [new Date(now.getTime() - days * DAY_MS)];
  await client.query('delete from usage_days where day < $1::date', daysBefore(USAGE_DAYS));
  await client.query('delete from password_resets where expires_at < $1', [now]);
  await client.query('delete from retention_notes where at < $1', daysBefore(NOTES_KEPT_DAYS));
  for (const note of notes) {
    log.info({ note }, 'maintained the tables');
    await client.query('insert into retention_notes (at, note) values ($1, $2)', [now, note]);
  }
}

/** The start of the month that began `months` months before that of `now`, in UTC. */
function monthsBefore(now: Date, months: number): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1));
}

async function addMonths(client: Queryable): Promise<string[]> {
  const { rows } = await client.query<{ name: string | null }>(
    `select souk_add_month(parent, month) as name
     from unnest(array['finished_calls', 'ledger']) as parent
     cross join generate_series(date_trunc('month', now() at time zone 'UTC'),
       date_trunc('month', now() at time zone 'UTC') + make_interval(months => $1), interval '1 month') as month`,
    [MONTHS_AHEAD],
  );
  return rows.flatMap(({ name }) => (name === null ? [] : [`Created ${name}`]));
}

async function dropCallMonths(client: Queryable, before: Date): Promise<string[]> {
  const notes: string[] = [];
  for (const { name } of await oldMonths(client, 'finished_calls', before)) {
    await client.query(`drop table ${name}`);
    notes.push(`Deleted ${name}`);
  }
  // Calls whose ids were made by a wrong clock.
  await client.query('delete from finished_calls_default where finished_at < $1', [before]);
  return notes;
}

async function foldLedger(client: Queryable, before: Date): Promise<string[]> {
  const notes: string[] = [];
  for (const { name, month } of await oldMonths(client, 'ledger', before)) {
    const { rows } = await client.query<{ folded: boolean }>(
      'select souk_fold_ledger_month($1, $2) as folded',
      [...[name, month]],
    );
    if (rows[0]?.folded) notes.push(`Folded ${name}`);
  }
  return notes;
}

async function oldMonths(
  client: Queryable,
  parent: 'finished_calls' | 'ledger',
  before: Date,
): Promise<{ name: string; month: string }[]> {
  const { rows } = await client.query<{ name: string; month: string }>(
    'select name, month::text from souk_months_before($1, $2)',
    [parent, before],
  );
  return rows;
}

/** Deletes the weeks of each site but the newest `kept`. */
async function dropWeeks(database: Database, kept: number): Promise<string[]> {
  const { rows } = await database.query<{ site: number; week: string }>(
    `select site, week::text from (
       select site, week, row_number() over (partition by site order by week desc) as nth from aba_weeks) as w
     where nth > $1 order by site, week`,
    [kept],
  );
  const notes: string[] = [];
  for (const { site, week } of rows) {
    const code = siteOfDomain(site);
    if (code && (await dropWeek(database, code, week))) notes.push(`Deleted the report of ${code}, ${week}`);
  }
  return notes;
}
