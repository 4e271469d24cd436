import type { Readable } from 'node:stream';
import type pg from 'pg';
import { isSaturday } from '../../operations/brand-analytics/keywords/report-week.ts';
import { REPORT_SITES, type ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import type { Database } from '../../platform/db/pool.ts';
import { startCopy } from './copy.ts';
import type { Ranking } from './departments.ts';
import { IMPORT_LOCK } from './import-lock.ts';
import { openImportNotes } from './import-notes.ts';
import { askDatabase } from './name-ids.ts';
import { asReportError, openReport } from './open-report.ts';
import type { Report } from './report.ts';
import { ReportError } from './report-error.ts';
import { saveWeek } from './save-week.ts';
import { STAGE_COLUMNS } from './stage.ts';
import { openStaging } from './staging.ts';
import { claimReports } from './stored-provider.ts';

export type ImportStage = 'reading' | 'saving' | 'indexing';

export interface ImportProgress {
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
