import type { Queues } from '../../jobs/queues.ts';
import { deleteOldClaims } from '../billing/admission.ts';
import { guardBooks } from '../billing/book-guard.ts';
import { deleteDemoReports } from '../brand-analytics/import/import-week.ts';
import { renewStaleScreen } from '../brand-analytics/import/screen-table.ts';
import type { Providers } from '../operations/pools.ts';
import { everyWithLease, keepLease } from '../platform/db/lease.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Stores } from '../platform/stores.ts';
import { purgeFiles } from '../results/files.ts';
import { purgeLinks } from '../results/result-links.ts';
import { forgetAccounts, readAccounts, tokensOf } from '../upstream/stored-accounts.ts';
import { recordQueues } from './activity/keep-activity.ts';
import type { AlertReceivers } from './alerts/messages.ts';
import { watchAlerts } from './alerts/watch.ts';
import { sumUnits } from './margin/unit-sums.ts';
import { eraseDueAccounts } from './personal-data/erasure.ts';
import { DAY_MS, type RetentionSettings, retain } from './retention.ts';
import { recordIncidents, STATUS_LEASE } from './status/incidents.ts';

const EVERY_MS = 60_000;

const RETAIN_EVERY_MS = 3_600_000;

/** Records behind the operator console that are deleted by their age, with the column of their time. */
const KEPT_DAYS: readonly (readonly [table: string, column: string, days: number])[] = [
  ['provider_account_hours', 'hour', 400],
  ['token_readings', 'minute', 7],
  ['operation_hours', 'hour', 400],
  ['queue_hours', 'hour', 400],
  ['status_minutes', 'minute', 3],
  ['incidents', 'ended_at', 120],
  ['announcements', 'ends_at', 90],
  ['wrong_clocks', 'noted_at', 1],
  ['daily_figures', 'day', 400],
  ['aba_imports', 'started_at', 400],
  ['product_labels', 'learned_at', 400],
];

const FAILURES_KEPT_DAYS = 30;

/** Accounts of settings that no worker has any more. */
const PROVIDER_ACCOUNTS_KEPT_DAYS = 1;

/** The most failures that are kept. Older ones are deleted, even within that number of days. */
const MAX_FAILURES = 100_000;

/** The most products whose labels are kept. */
const MAX_PRODUCT_LABELS = 2_000_000;

interface MaintenanceDeps extends Stores {
  providers: Providers;
  retention: RetentionSettings;
  queues: Queues;
  /** Where alerts are sent; null: this process does not measure them. */
  receivers: AlertReceivers | null;
}

/**
 * Records the token level and deletes old records every minute, and creates and deletes partitions every hour, until the
 * process stops. Workers take part, and one process at a time does each task.
 */
export function startMaintenance(deps: MaintenanceDeps): () => Promise<void> {
  const { database, clock, log, retention, receivers } = deps;
  const pauseMs = EVERY_MS - 5_000;
  return everyWithLease(deps, EVERY_MS, 'failed to maintain the tables', {
    maintenance: { pauseMs, task: () => keepRecords(deps) },
    retention: {
      pauseMs: RETAIN_EVERY_MS - 5_000,
      // To fold a month of the ledger can take longer than a lease.
      task: (renew) =>
        keepLease(clock, renew, () => retain({ database, log, settings: retention }, clock.now())),
    },
    queues: { pauseMs, task: () => recordQueues(database, deps.queues, clock.now()) },
    units: { pauseMs, task: () => sumUnits(database, clock.now()) },
    // One week a minute, so that imports find no long queue before them.
    screens: { pauseMs, task: () => renewScreen(deps) },
    ...(receivers && { alerts: { pauseMs, task: () => watchAlerts({ ...deps, receivers }) } }),
    books: { pauseMs, task: () => guardBooks(deps) },
    erasure: { pauseMs, task: () => eraseAndNote(deps) },
    [STATUS_LEASE]: { pauseMs, task: () => recordIncidents(database, clock.now()) },
  });
}

async function eraseAndNote({ database, clock, log }: MaintenanceDeps): Promise<void> {
  const now = clock.now();
  const notes = await eraseDueAccounts(database, now, (accountId, error) =>
    log.error({ err: error, accountId }, 'failed to erase an account'),
  );
  for (const note of notes) {
    log.info({ note }, 'erased an account');
    await database.query('insert into retention_notes (at, note) values ($1, $2)', [new Date(now), note]);
  }
}

async function renewScreen({ database, log }: MaintenanceDeps): Promise<void> {
  const renewed = await renewStaleScreen(database);
  if (renewed) log.info(renewed, 'renewed the screen of a week, because an older week was imported');
}

async function keepRecords(deps: MaintenanceDeps): Promise<void> {
  const { database, providers, clock } = deps;
  const now = clock.now();
  const tokens = tokensOf(await readAccounts(deps, providers.products));
  if (tokens)
    await database.query(
      `insert into token_readings (provider, minute, tokens_left, tokens_per_minute)
       values ($1, date_trunc('minute', $2::timestamptz, 'UTC'), $3, $4) on conflict (minute) do nothing`,
      [providers.products, new Date(now), tokens.left, tokens.perMinute],
    );
  await deleteOldClaims(database, now);
  await purgeLinks(database, now);
  await purgeFiles(database, now);
  const before = (days: number) => new Date(now - days * DAY_MS);
  await forgetAccounts(database, before(PROVIDER_ACCOUNTS_KEPT_DAYS));
  await noteSize(database, now);
  for (const [table, column, days] of KEPT_DAYS)
    await database.query(`delete from ${table} where ${column} < $1`, [before(days)]);
  // The count is an estimate, because counting takes long. A tenth is deleted at once, so that this is rare.
  await database.query(
    `delete from product_labels where learned_at < (
       select learned_at from product_labels order by learned_at desc offset $1 limit 1)
     and (select reltuples from pg_class where oid = 'product_labels'::regclass) > $2`,
    [MAX_PRODUCT_LABELS * 0.9, MAX_PRODUCT_LABELS],
  );
  // Ids increase with time, so only the oldest rows are read.
  await database.query(
    `delete from failures where id in (select id from failures where at < $1 order by id limit 10000)
       or id <= (select max(id) from failures) - $2::bigint`,
    [before(FAILURES_KEPT_DAYS), MAX_FAILURES],
  );
  await deleteDemoReports(database, providers.reports);
}

/** Notes the size of the database once a UTC day. */
async function noteSize(database: Database, now: number): Promise<void> {
  await database.query(
    `insert into daily_figures (day, name, value) select $1::date, 'database.bytes', pg_database_size(current_database())
     where not exists (select from daily_figures where day = $1::date and name = 'database.bytes')
     on conflict do nothing`,
    [new Date(now)],
  );
}
