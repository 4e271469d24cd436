import type { Readable } from 'node:stream';
import type pg from 'pg';
import {
  isSaturday,
  REPORT_SITES,
  type ReportSite,
  siteOfDomain,
} from '../../operations/brand-analytics/keywords.ts';
import { DEMO } from '../../operations/pools.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { startCopy } from './copy.ts';
import { askDatabase } from './dictionary.ts';
import { asReportError, openReport } from './open-report.ts';
import { dropWeek, IMPORT_LOCK } from './publish.ts';
import { type Report, ReportError } from './report.ts';
import { type Ranking, saveWeek } from './save-week.ts';
import { openStaging, STAGE_COLUMNS } from './stage.ts';

/** Records the progress of an import, for other processes to display. */
interface ImportNotes {
  /** Marks the import as alive while this transaction is open. */
  hold(client: pg.ClientBase): Promise<void>;
  progress(done: { rows: number; stage: 'reading' | 'saving' | 'indexing' }): void;
  ended(outcome: { week: string } | { reason: string }): Promise<void>;
}

type ImportState = 'waiting' | 'reading' | 'saving' | 'indexing' | 'done' | 'failed';

export interface NotedImport {
  id: number;
  site: ReportSite;
  /** Saturday, YYYY-MM-DD; null until the file has been read. */
  week: string | null;
  state: ImportState;
  rowsRead: number;
  startedAt: Date;
  endedAt: Date | null;
  reason: string | null;
  /** False if the import has not ended but its process has died. */
  isAlive: boolean;
  /** Number of terms in the newest week of the site, as an estimate of the rows. Null if no week is loaded. */
  rowsExpected: number | null;
}

/** First half of the advisory lock of a running import; the second half is the import's number. */
const LOCK = 8_117;

/** Limits how often progress is stored. */
const ROWS_BETWEEN_NOTES = 20_000;

async function openImportNotes(
  database: Database,
  { site, week, now }: { site: ReportSite; week?: string | undefined; now: number },
): Promise<ImportNotes> {
  const { rows } = await database.query<{ id: number }>(
    `insert into aba_imports (site, week, state, started_at) values ($1, $2, 'waiting', $3) returning id`,
    [REPORT_SITES[site].domain, week ?? null, new Date(now)],
  );
  const id = rows[0]?.id ?? 0;
  let underWay: Promise<unknown> = Promise.resolve();
  let isFree = true;
  let next = 0;
  return {
    async hold(client) {
      await client.query('select pg_advisory_xact_lock($1, $2::integer)', [LOCK, id]);
    },
    progress({ rows, stage }) {
      if (stage === 'reading' && (rows < next || !isFree)) return;
      next = rows + ROWS_BETWEEN_NOTES;
      isFree = false;
      // The import does not wait for the write. If it fails, the next write replaces it.
      underWay = underWay
        .then(() =>
          database.query('update aba_imports set state = $2, rows_read = $3 where id = $1', [
            id,
            stage,
            rows,
          ]),
        )
        .catch(() => {})
        .finally(() => {
          isFree = true;
        });
    },
    async ended(outcome) {
      await underWay;
      const [state, foundWeek, reason] =
        'week' in outcome ? ['done', outcome.week, null] : ['failed', null, outcome.reason.slice(0, 2_000)];
      await database
        .query(
          `update aba_imports set state = $2, week = coalesce($3, week), reason = $4,
             ended_at = started_at + (clock_timestamp() - noted_at) where id = $1`,
          [id, state, foundWeek, reason],
        )
        .catch(() => {});
    },
  };
}

/** Lists imports, the newest first. */
export async function listImports(database: Queryable, limit: number): Promise<NotedImport[]> {
  const { rows } = await database.query<Omit<NotedImport, 'site'> & { domain: number }>(
    `select i.id, i.site as domain, i.week::text, i.state, i.rows_read as "rowsRead", i.started_at as "startedAt",
       i.ended_at as "endedAt", i.reason,
       exists (select from pg_locks l where l.locktype = 'advisory' and l.classid = $2 and l.objid = i.id::oid
         and l.database = (select oid from pg_database where datname = current_database())) as "isAlive",
       (select w.terms from aba_weeks w where w.site = i.site order by w.week desc limit 1) as "rowsExpected"
     from aba_imports i order by i.id desc limit $1`,
    [limit, LOCK],
  );
  return rows.flatMap(({ domain, ...row }) => {
    const site = siteOfDomain(domain);
    return site ? [{ ...row, site }] : [];
  });
}

/** A week that is being fetched from the provider, or whose last attempt failed. */
export interface AwaitedWeek {
  site: ReportSite;
  week: string;
  attempts: number;
  nextAttemptAt: Date;
  reason: string | null;
}

/** Lists weeks that are being fetched or tried again, sorted by their next attempt. */
export async function awaitedWeeks(database: Queryable): Promise<AwaitedWeek[]> {
  const { rows } = await database.query<Omit<AwaitedWeek, 'site'> & { domain: number }>(
    `select site as domain, week::text, attempts, next_attempt_at as "nextAttemptAt", reason from aba_fetches f
     where not exists (select from aba_weeks a where a.site = f.site and a.week = f.week)
     order by next_attempt_at limit 100`,
  );
  return rows.flatMap(({ domain, ...row }) => {
    const site = siteOfDomain(domain);
    return site ? [{ ...row, site }] : [];
  });
}

/** A weekly report counts as failed after this many attempts, because the provider often is late by some hours. */
const FAILED_ATTEMPTS = 12;

/** Lists awaited weeks whose report did not arrive. If the next attempt was due a day ago, the week is not requested any more. */
export async function overdueWeeks(database: Queryable, now: number): Promise<AwaitedWeek[]> {
  const awaited = await awaitedWeeks(database);
  return awaited.filter(
    ({ attempts, nextAttemptAt }) => attempts >= FAILED_ATTEMPTS && nextAttemptAt.getTime() > now - DAY_MS,
  );
}

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
  // One table at a time, because one transaction may not be able to hold the locks of all tables.
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

export type ImportStage = 'reading' | 'saving' | 'indexing';

interface ImportProgress {
  rows: number;
  stage: ImportStage;
}

export interface ImportRequest {
  /** A report: JSON of the API or CSV downloaded by hand, plain or gzip. */
  file: Readable;
  site: ReportSite;
  /**
   * The week's Saturday, YYYY-MM-DD. Required if the file does not name it; otherwise it must agree with the file.
   */
  week?: string | undefined;
  /** The provider of the installation. A report of another one is refused; see `claimReports`. */
  provider: string;
  /** The provider of the products whose labels complete a report of the API. Default: it is not completed. */
  labelsFrom?: string | undefined;
  /** Unix milliseconds. */
  now: number;
  /**
   * Called with the number of rows read so far, when the file has been read, and when its rows are in their table.
   */
  onProgress?(progress: ImportProgress): void;
}

export interface ImportResult {
  week: string;
  terms: number;
  replaced: boolean;
  /** Other weeks whose change columns were recomputed. */
  recomputed: string[];
  warnings: string[];
}

/**
 * Imports a weekly report. The transactions commit together: a broken file changes nothing, and readers see the
 * state before or after. One import runs at a time; others wait.
 * @throws ReportError that says what is wrong with the file.
 */
export async function importWeek(database: Database, request: ImportRequest): Promise<ImportResult> {
  await claimReports(database, request.provider);
  const notes = await openImportNotes(database, request);
  // COPY needs a connection for itself: one each for rows, titles and labels.
  const [main, titles, labels] = await Promise.all([
    database.connect(),
    database.connect(),
    database.connect(),
  ]);
  const clients = [main, titles, labels];
  let broken = true;
  try {
    for (const client of clients) await client.query('begin');
    await notes.hold(main);
    await main.query(`select pg_advisory_xact_lock(${IMPORT_LOCK})`);
    const watched = {
      ...request,
      onProgress(progress: ImportProgress) {
        notes.progress(progress);
        request.onProgress?.(progress);
      },
    };
    const read = await readReport({ main, titles, labels }, watched);
    const result = await saveWeek(main, titles, watched, read);
    // The rows refer to labels and titles, so these are committed first. On their own they do no harm.
    for (const client of [labels, titles, main]) await client.query('commit');
    broken = false;
    await notes.ended({ week: result.week });
    return result;
  } catch (error) {
    await notes.ended({ reason: error instanceof Error ? error.message : String(error) });
    throw asReportError(error);
  } finally {
    request.file.destroy();
    // A connection in COPY accepts no rollback; closing it has the same effect.
    for (const client of clients) client.release(broken);
  }
}

export interface ReadReport {
  source: Report['source'];
  week: string;
  rows: number;
  ranking: Ranking;
}

interface Clients {
  main: pg.ClientBase;
  titles: pg.ClientBase;
  labels: pg.ClientBase;
}

/** Reads the whole file into staging tables and checks every row. */
async function readReport(clients: Clients, request: ImportRequest): Promise<ReadReport> {
  const { site, onProgress } = request;
  await clients.main.query(`create unlogged table aba_staging (${STAGE_COLUMNS})`);
  await clients.titles.query('create temporary table aba_titles (asin bigint, title text) on commit drop');
  const rowCopy = startCopy(clients.main, 'aba_staging');
  const titleCopy = startCopy(clients.titles, 'aba_titles');
  const { stage, ranking } = openStaging(site, askDatabase(clients.labels));
  let rows = 0;
  try {
    onProgress?.({ rows, stage: 'reading' });
    const report = await openReport(request.file);
    for await (const batch of report.batches) {
      const staged = await stage(batch);
      await Promise.all([rowCopy.write(staged.rows), titleCopy.write(staged.titles)]);
      rows += batch.length;
      onProgress?.({ rows, stage: 'reading' });
    }
    await Promise.all([rowCopy.end(), titleCopy.end()]);
    if (rows === 0) throw new ReportError('The file has no rows.');
    onProgress?.({ rows, stage: 'saving' });
    return { source: report.source, week: weekOf(report, request), rows, ranking };
  } catch (error) {
    await Promise.all([rowCopy.abort(), titleCopy.abort()]);
    throw error;
  }
}

function weekOf(report: Report, { site, week }: ImportRequest): string {
  const facts = report.facts();
  const { marketplaceId } = REPORT_SITES[site];
  if (facts.marketplaceIds.length > 0 && !facts.marketplaceIds.includes(marketplaceId))
    throw new ReportError(
      `The report is for marketplace ${facts.marketplaceIds.join(', ')}, not ${marketplaceId} (${site}).`,
    );
  if (week && facts.week && week !== facts.week)
    throw new ReportError(`The report is for the week that ends on ${facts.week}, not on ${week}.`);
  const found = facts.week ?? week;
  if (!found)
    throw new ReportError('The file does not name its week. Give the Saturday on which the week ends.');
  if (!isSaturday(found)) throw new ReportError(`${found} is not a Saturday. Weeks end on a Saturday.`);
  return found;
}
