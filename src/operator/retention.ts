import { purgeOAuthRecords } from '../accounts/oauth-records.ts';
import { LONGEST_QUERY_MS } from '../billing/books.ts';
import { purgePurchases } from '../billing/payments/purchases.ts';
import { purgeReductions } from '../billing/payments/reductions.ts';
import { dropWeek } from '../brand-analytics/import/publish.ts';
import { siteOfDomain } from '../operations/brand-analytics/keywords.ts';
import { purgeMessages } from '../outbox/log.ts';
import { purgeWatchCounts } from '../outbox/webhooks/job-webhooks.ts';
import { purgeSecrets } from '../outbox/webhooks/secrets.ts';
import type { Database } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import type { Logger } from '../platform/log.ts';
import { purgeChartLinks } from '../results/chart-links.ts';
import { foldHours, recordWeeks } from './activity/keep-activity.ts';

/** How long tables that grow with use keep their rows. */
export interface RetentionSettings {
  callMonths: number;
  /** Months after which ledger lines are folded into one line for each source, kind and month; 0: never. */
  ledgerMonths: number;
  /** The number of newest weekly reports that each site keeps. One more is kept, because the oldest of them is compared with it. */
  reportWeeks: number;
}

export const RETENTION: RetentionSettings = { callMonths: 13, ledgerMonths: 0, reportWeeks: 104 };

export const DAY_MS = 86_400_000;

/** The rule that bounds each table of the schema. The console and docs/operating/retention.md show the rules; a test compares both with the schema. */
export const RETENTION_RULES: Readonly<Record<string, string>> = {
  aba_fetches: 'Rows of weeks that ended more than 70 days ago are deleted',
  aba_imports: '400 days',
  aba_labels: 'One row for each brand and category name in a report',
  aba_products: 'One row for each product in a report',
  aba_provider: 'One row',
  aba_ranks: 'REPORT_WEEKS_KEPT weeks of each site, and the one before',
  aba_screens: 'Deleted with their week',
  aba_terms: 'One row for each search term in a report',
  aba_words: 'One row for each word in a search term',
  aba_weeks: 'REPORT_WEEKS_KEPT weeks of each site, and the one before',
  account_notes: 'Until the account is erased; 200 of an account',
  accounts: 'One row for each account',
  active_weeks: '400 days',
  admission_state: 'One row',
  alerts: 'One row for each alert',
  announcements: '90 days after their end',
  api_keys:
    'One row for each key, at most 5,000 of an account; keys of the pages are deleted with their session',
  audit_log:
    '401 days; PostgreSQL refuses to delete lines of the last 400 days. At most 10,000 lines a day for the keys of an account, and for a person on pages of accounts',
  auto_top_ups: 'One row for each account that has set up automatic top-ups',
  batch_calls: 'Deleted with their batch',
  batches:
    '7 days after their end, those of test accounts 1 day, with the newest 100 of an account that cost nothing; OPEN_BATCHES_PER_ACCOUNT that are not finished',
  book_faults: 'Until an audit of the account finds the promise kept; one row for each promise',
  book_guard: 'One row',
  call_claims: '10 minutes',
  call_webhook_counts: '1 day',
  call_webhooks: 'Until the call ends; WEBHOOKS_PER_CALL of a call',
  chart_links: 'Until they expire, at most 365 days; 100 of an account, at most 256 KB each',
  connections: 'Deleted with their key',
  daily_figures: '400 days',
  email_confirmations: 'Until they expire',
  failures: '30 days, at most 100,000 rows',
  file_contents: 'As long as a file has them; 10 minutes of a writer that has ended',
  file_pieces: 'Deleted with their content; 2 GiB of a content',
  files:
    'As long as the job or batch whose result they are, 7 days at most; an account with more than the limit of stored results adds none',
  finished_calls: 'CALLS_KEPT_MONTHS months',
  incidents: '120 days after their end',
  key_periods: '62 days',
  leases: 'One row for each kind of work',
  invitations: '7 days, at most 50 of an account',
  ledger: 'For ever, or folded after LEDGER_KEPT_MONTHS months',
  mail_choices: 'One row for each member with a notice or a choice',
  members: 'One row for each member of an account',
  migrations: 'One row for each migration',
  oauth_records:
    'Until they expire: a minute for codes, 30 minutes for requests that wait for a person, an hour for access tokens, the end of the connection for its grant and refresh tokens, 30 days for refresh tokens that were used; registered clients 1 day, or 30 days after the end of their last connection',
  open_calls: 'Until the call ends',
  operation_hours: '400 days: 32 days by hour, older ones by day',
  orders: 'For ever: purchases that were paid; 30 days: others, at most 100 of an account',
  outbox:
    'Webhooks: 30 days, or until they have ended, with the newest 100 tests and 100,000 deliveries of an account; PENDING_WEBHOOKS_PER_ACCOUNT that are not delivered. Mails: 400 days after their end; 30 days for mails about security and addresses, alerts of trackers, and results of schedules; the last mail to the owner of a deleted account until it is sent, at most 3 days. Chats: 7 days after the end, the last one of a tracker',
  outbox_attempts: 'Deleted with their message; 50 of a message',
  pack_offers: 'One row for each offer',
  packs: 'For ever: granted packs',
  password_resets: 'Until they expire',
  passwords: 'One row for each person',
  people: 'One row for each person',
  pending_sign_ins: 'Five minutes',
  plans: 'One row for each version of a plan',
  provider_account_hours: '400 days',
  provider_accounts:
    'One row for each account at the provider of product data; those of KEEPA_API_KEY until a day after no worker has it',
  price_reductions: '400 days after their end; at most 1,000 that run',
  product_labels: '400 days after the product was last looked up; at most 2,000,000 rows',
  renewing_plans: 'For ever: plans that Stripe renews',
  queue_hours: '400 days',
  recovery_codes: 'Ten for each person with a second factor',
  result_links: 'Until they expire, at most 7 days; 200 of an account',
  retention_notes: '400 days',
  schedule_contents: 'One row for each item of a schedule',
  schedule_runs: '90 days; 1,000 of a schedule',
  schedules: 'SCHEDULES_PER_ACCOUNT of an account, those of trackers included',
  status_minutes: '3 days',
  stripe_customers: 'One row for each account that has paid through Stripe',
  stripe_payments: 'For ever: what each payment through Stripe has granted',
  subscriptions: 'For ever: granted subscriptions',
  test_reports: 'Generated reports of test keys: 5 weeks of us and 2 of each other site, with their terms',
  token_days: '3,650 days',
  token_readings: '7 days',
  tracker_alerts: '90 days; 10,000 of a tracker',
  tracker_states:
    'One row for each product or keyword of a tracker; two for a screen, with at most 1,000 terms',
  trackers: 'Deleted with their schedule',
  two_factor: 'One row for each person with a second factor',
  unit_days: '3,650 days',
  unit_sums: 'One row',
  usage_days: '3,650 days',
  web_sessions: 'Until they expire',
  webhook_secrets: 'Until they expire; one current of each account',
  wrong_clocks: '1 day',
};

/** Partitions are created for this month and this many further months. */
const MONTHS_AHEAD = 2;

/** The longest period that the command `usage` shows. Packs are valid as long, whose units the margin counts from their start. */
const USAGE_DAYS = 3_650;

const NOTES_KEPT_DAYS = 400;

/** A day more than the trigger of the table requires. */
const AUDIT_KEPT_DAYS = 401;

/** Units return to the month in which their call was accepted. */
const KEY_PERIODS_DAYS = 62;

interface RetentionDeps {
  database: Database;
  log: Logger;
  settings: RetentionSettings;
}

/**
 * Creates partitions of the next months, and deletes what is older than the settings allow. Two processes can do it at once:
 * the second one finds nothing to do, or fails and tries again a minute later. Months are those of PostgreSQL's clock, or of
 * `now` if that is earlier, so that a process whose clock is ahead deletes nothing too early.
 * @throws the error of the first step that fails, after all others were tried.
 */
export async function retain({ database, log, settings }: RetentionDeps, now: number): Promise<void> {
  const { rows } = await database.query<{ at: Date }>('select least(now(), $1::timestamptz) as at', [
    new Date(now),
  ]);
  const at = rows[0]?.at ?? new Date(now);
  const note: Note = async (text) => {
    log.info({ note: text }, 'maintained the tables');
    await database.query('insert into retention_notes (at, note) values ($1, $2)', [at, text]);
  };
  const errors: unknown[] = [];
  for (const step of stepsOf(database, settings, at, note)) {
    try {
      await step();
    } catch (error) {
      log.warn({ err: error }, 'failed to maintain a table');
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Records what maintenance has changed. */
type Note = (text: string) => Promise<void>;

function stepsOf(
  database: Database,
  { callMonths, ledgerMonths, reportWeeks }: RetentionSettings,
  at: Date,
  note: Note,
): (() => Promise<unknown>)[] {
  const deleteBefore = (table: string, column: string, days = 0) =>
    database.query(`delete from ${table} where ${column} < $1`, [new Date(at.getTime() - days * DAY_MS)]);
  return [
    () => addMonths(database, note),
    () => dropCallMonths(database, monthsBefore(at, callMonths), note),
    async () => {
      if (ledgerMonths > 0) await foldLedger(database, monthsBefore(at, ledgerMonths), note);
    },
    () => dropWeeks(database, reportWeeks + 1, note),
    ...['usage_days', 'unit_days', 'token_days'].map(
      (table) => () =>
        database.query(`delete from ${table} where day < $1::date`, [
          new Date(at.getTime() - USAGE_DAYS * DAY_MS),
        ]),
    ),
    () => purgeMessages(database, at.getTime()),
    () => purgeWatchCounts(database, at.getTime()),
    () => purgeSecrets(database, at.getTime()),
    () => purgePurchases(database, at.getTime()),
    () => purgeReductions(database, at),
    () => purgeChartLinks(database, at),
    () => deleteBefore('key_periods', 'starts_at', KEY_PERIODS_DAYS),
    () => deleteBefore('pending_sign_ins', 'expires_at'),
    () => deleteBefore('email_confirmations', 'expires_at'),
    () => deleteBefore('password_resets', 'expires_at'),
    () => deleteBefore('invitations', 'expires_at'),
    () => purgeOAuthRecords(database, at),
    () => deleteBefore('audit_log', 'at', AUDIT_KEPT_DAYS),
    () => deleteBefore('retention_notes', 'at', NOTES_KEPT_DAYS),
    () => foldHours(database, at.getTime()),
    () => recordWeeks(database, at.getTime()),
  ];
}

/** The start of the month that began `months` months before that of `now`, in UTC. */
function monthsBefore(now: Date, months: number): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1));
}

async function addMonths(database: Database, note: Note): Promise<void> {
  const { rows } = await database.query<{ name: string | null }>(
    `select souk_add_month(parent, month) as name
     from unnest(array['finished_calls', 'ledger']) as parent
     cross join generate_series(date_trunc('month', now() at time zone 'UTC'),
       date_trunc('month', now() at time zone 'UTC') + make_interval(months => $1), interval '1 month') as month`,
    [MONTHS_AHEAD],
  );
  for (const { name } of rows) if (name !== null) await note(`Created ${name}`);
}

async function dropCallMonths(database: Database, before: Date, note: Note): Promise<void> {
  for (const { name } of await oldMonths(database, 'finished_calls', before)) {
    await database.query(`drop table if exists ${name}`);
    await note(`Deleted ${name}`);
  }
  // Calls whose ids were made by a wrong clock.
  await database.query('delete from finished_calls_default where finished_at < $1', [before]);
}

async function foldLedger(database: Database, before: Date, note: Note): Promise<void> {
  // A month is folded after its units are summed by day.
  const { rows: sums } = await database.query<{ at: Date }>(
    'select least($1, summed_until) as at from unit_sums',
    [before],
  );
  for (const { name, month } of await oldMonths(database, 'ledger', sums[0]?.at ?? new Date(0))) {
    if (await foldMonth(database, name, month)) await note(`Folded ${name}`);
  }
}

/** A month can have more lines than are folded in the time of other statements. The limit for locks stays, because calls wait behind them. */
function foldMonth(database: Database, name: string, month: string): Promise<boolean> {
  return inTransaction(database, async (client) => {
    await client.query('set local statement_timeout = 0');
    const { rows } = await client.query<{ folded: boolean }>({
      text: 'select souk_fold_ledger_month($1, $2) as folded',
      values: [name, month],
      // pg has this field, which its types lack.
      ...{ query_timeout: LONGEST_QUERY_MS },
    });
    return rows[0]?.folded === true;
  });
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
async function dropWeeks(database: Database, kept: number, note: Note): Promise<void> {
  const { rows } = await database.query<{ site: number; week: string }>(
    `select site, week::text from (
       select site, week, row_number() over (partition by site order by week desc) as nth from aba_weeks) as w
     where nth > $1 order by site, week`,
    [kept],
  );
  for (const { site, week } of rows) {
    const code = siteOfDomain(site);
    if (code && (await dropWeek(database, code, week))) await note(`Deleted the report of ${code}, ${week}`);
  }
}
