import type pg from 'pg';
import {
  REPORT_SITES,
  type ReportSite,
  siteOfDomain,
} from '../../operations/brand-analytics/keywords/sites.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';

/** Records the progress of an import, for other processes to display. */
export interface ImportNotes {
  /** Marks the import as alive while this transaction is open. */
  hold(client: pg.ClientBase): Promise<void>;
  progress(done: { rows: number; stage: 'reading' | 'saving' | 'indexing' }): void;
  ended(outcome: { week: string } | { reason: string }): Promise<void>;
}

export type ImportState = 'waiting' | 'reading' | 'saving' | 'indexing' | 'done' | 'failed';

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

export async function openImportNotes(
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
