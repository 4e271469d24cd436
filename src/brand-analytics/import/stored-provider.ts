import { siteOfDomain } from '../../operations/brand-analytics/keywords/sites.ts';
import { DEMO } from '../../operations/providers.ts';
import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { dropWeek } from './drop-week.ts';
import { IMPORT_LOCK } from './import-lock.ts';
import { ReportError } from './report-error.ts';

/** The tables that imports write, except those of weeks. */
const TABLES =
  'aba_terms, aba_words, aba_products, aba_labels, aba_weeks, aba_fetches, aba_imports, aba_provider';

/**
 * Assigns the tables of brand analytics to a provider, before a report of it is imported. They hold reports of one
 * provider at a time, because imports compare weeks, and share terms and titles. Reports of the demo are deleted.
 * @throws ReportError if they hold reports of another provider.
 */
export async function claimReports(database: Database, provider: string): Promise<void> {
  const stored = await storedProvider(database);
  if (stored === provider) return;
  if (stored === DEMO || (stored !== null && !(await hasWeeks(database)))) await deleteReports(database);
  else if (stored !== null)
    throw new ReportError(
      `The database holds reports of the provider ${stored}, which do not mix with those of ${provider}. \`souk aba clear\` deletes them.`,
    );
  await database.query(
    'insert into aba_provider (provider) values ($1) on conflict (only_row) do update set provider = excluded.provider',
    [provider],
  );
}

/** Deletes the reports of the demo provider from an installation that has another one. */
export async function deleteDemoReports(database: Database, provider: string): Promise<void> {
  if (provider !== DEMO && (await storedProvider(database)) === DEMO) await deleteReports(database);
}

/** Deletes all reports, with their terms, titles and labels. @throws if an import is running. */
export async function deleteReports(database: Database): Promise<void> {
  const { rows } = await database.query<{ site: number; week: string }>(
    'select site, week::text from aba_weeks',
  );
  // One by one, because the locks of all tables may be more than one transaction can hold.
  for (const { site, week } of rows) {
    const code = siteOfDomain(site);
    if (code) await dropWeek(database, code, week);
  }
  await inTransaction(database, async (client) => {
    await client.query(`select pg_advisory_xact_lock(${IMPORT_LOCK})`);
    if (await hasWeeks(client))
      throw new ReportError('Another import is running. Try again when it has ended.');
    await client.query(`truncate ${TABLES}`);
  });
}

/** Returns the provider whose reports are stored; null if none was ever imported. */
async function storedProvider(database: Database): Promise<string | null> {
  const { rows } = await database.query<{ provider: string }>('select provider from aba_provider');
  return rows[0]?.provider ?? null;
}

async function hasWeeks(database: Pick<Database, 'query'>): Promise<boolean> {
  const { rows } = await database.query('select from aba_weeks limit 1');
  return rows.length > 0;
}
