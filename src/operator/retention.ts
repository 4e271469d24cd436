import { purgePurchases } from '../billing/payments/purchases.ts';
import { dropWeek } from '../brand-analytics/import/drop-week.ts';
import { purgeMails } from '../mail/purge.ts';
import { siteOfDomain } from '../operations/brand-analytics/keywords/sites.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import type { RetentionSettings } from './retention-settings.ts';

/** Partitions are created for this month and this many further months. */
const MONTHS_AHEAD = 2;

/** The longest period that the command `usage` shows. */
const USAGE_DAYS = 3_650;
const NOTES_KEPT_DAYS = 400;

/** A day more than the trigger of the table requires. */
const AUDIT_KEPT_DAYS = 401;
/** Units return to the month in which their call was accepted. */
const KEY_PERIODS_DAYS = 62;
const DAY_MS = 86_400_000;

export interface RetentionDeps {
  database: Database;
  log: Logger;
  settings: RetentionSettings;
}

/**
 * Creates partitions of the next months, and deletes what is older than the settings allow. Two processes can do it at once:
 * the second one finds nothing to do, or fails and tries again a minute later. Months are those of PostgreSQL's clock, or of
 * `now` if that is earlier, so that a process whose clock is ahead deletes nothing too early.
 */
export async function retain({ database, log, settings }: RetentionDeps, now: number): Promise<void> {
  const { rows } = await database.query<{ at: Date }>('select least(now(), $1::timestamptz) as at', [
    new Date(now),
  ]);
  const at = rows[0]?.at ?? new Date(now);
  const notes = [
    ...(await addMonths(database)),
    ...(await dropCallMonths(database, monthsBefore(at, settings.callMonths))),
    ...(settings.ledgerMonths === 0
      ? []
      : await foldLedger(database, monthsBefore(at, settings.ledgerMonths))),
    ...(await dropWeeks(database, settings.reportWeeks + 1)),
  ];
  const daysBefore = (days: number) => [new Date(at.getTime() - days * DAY_MS)];
  await database.query('delete from usage_days where day < $1::date', daysBefore(USAGE_DAYS));
  await purgeMails(database, at.getTime());
  await purgePurchases(database, at.getTime());
  await database.query('delete from key_periods where starts_at < $1', daysBefore(KEY_PERIODS_DAYS));
  await database.query('delete from pending_sign_ins where expires_at < $1', [at]);
  await database.query('delete from password_resets where expires_at < $1', [at]);
  await database.query('delete from audit_log where at < $1', daysBefore(AUDIT_KEPT_DAYS));
  await database.query('delete from retention_notes where at < $1', daysBefore(NOTES_KEPT_DAYS));
  for (const note of notes) {
    log.info({ note }, 'maintained the tables');
    await database.query('insert into retention_notes (at, note) values ($1, $2)', [at, note]);
  }
}

/** The start of the month that began `months` months before that of `now`, in UTC. */
function monthsBefore(now: Date, months: number): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1));
}

async function addMonths(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ name: string | null }>(
    `select souk_add_month(parent, month) as name
     from unnest(array['finished_calls', 'ledger']) as parent
     cross join generate_series(date_trunc('month', now() at time zone 'UTC'),
       date_trunc('month', now() at time zone 'UTC') + make_interval(months => $1), interval '1 month') as month`,
    [MONTHS_AHEAD],
  );
  return rows.flatMap(({ name }) => (name === null ? [] : [`Created ${name}`]));
}

async function dropCallMonths(database: Database, before: Date): Promise<string[]> {
  const notes: string[] = [];
  for (const { name } of await oldMonths(database, 'finished_calls', before)) {
    await database.query(`drop table if exists ${name}`);
    notes.push(`Deleted ${name}`);
  }
  // Calls whose ids were made by a wrong clock.
  await database.query('delete from finished_calls_default where finished_at < $1', [before]);
  return notes;
}

async function foldLedger(database: Database, before: Date): Promise<string[]> {
  const notes: string[] = [];
  for (const { name, month } of await oldMonths(database, 'ledger', before)) {
    const { rows } = await database.query<{ folded: boolean }>(
      'select souk_fold_ledger_month($1, $2) as folded',
      [...[name, month]],
    );
    if (rows[0]?.folded) notes.push(`Folded ${name}`);
  }
  return notes;
}

async function oldMonths(
  database: Database,
  parent: 'finished_calls' | 'ledger',
  before: Date,
): Promise<{ name: string; month: string }[]> {
  const { rows } = await database.query<{ name: string; month: string }>(
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
