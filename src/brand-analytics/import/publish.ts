import pg from 'pg';
import { fluctuationSql, REPORT_SITES, type ReportSite } from '../../operations/brand-analytics/keywords.ts';
import { addDays } from '../../platform/calendar.ts';
import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { foundBySql } from '../row-tags.ts';

/**
 * The advisory lock of imports, as SQL: one import runs at a time in each schema. So imports of generated reports for
 * test keys and imports of real reports do not wait for each other.
 */
export const IMPORT_LOCK =
  "hashtext('souk.aba.import' || coalesce('.' || nullif(current_schema(), 'public'), ''))";

/** What a week has tables of: its ranks, and what screens read. */
type TableKind = 'ranks' | 'screens';

/** A table of a week. It is a partition once it is attached. */
export interface WeekTable {
  kind: TableKind;
  name: string;
  site: ReportSite;
  week: string;
  id: string;
}

const ASIN_COLUMNS = ['asin1', 'asin2', 'asin3'];

const quoted = (name: string) => pg.escapeIdentifier(name);

/** Returns the names of a loaded week's tables; null if the week is not loaded. */
export async function tablesOf(
  client: pg.ClientBase,
  site: ReportSite,
  week: string,
): Promise<Record<TableKind, string> | null> {
  const { rows } = await client.query<Record<TableKind, string>>(
    'select import_id::text as ranks, screen_id::text as screens from aba_weeks where site = $1 and week = $2',
    [REPORT_SITES[site].domain, week],
  );
  const [ids] = rows;
  if (!ids) return null;
  return { ranks: tableName('ranks', site, ids.ranks), screens: tableName('screens', site, ids.screens) };
}

/** Returns the name of the table with a loaded week's ranks; null if the week is not loaded. */
export async function ranksOf(client: pg.ClientBase, site: ReportSite, week: string): Promise<string | null> {
  return (await tablesOf(client, site, week))?.ranks ?? null;
}

/** Creates an empty table for a week, with a new name. */
export async function createTable(
  client: pg.ClientBase,
  kind: TableKind,
  site: ReportSite,
  week: string,
): Promise<WeekTable> {
  const { rows } = await client.query<{ id: string }>("select nextval('aba_import_ids')::text as id");
  const id = rows[0]?.id ?? '';
  const name = tableName(kind, site, id);
  // With this constraint, attaching the table does not scan it.
  await client.query(`create table ${quoted(name)} (like aba_${kind} including defaults,
    check (site is not null and site = ${REPORT_SITES[site].domain}
      and week is not null and week = ${pg.escapeLiteral(week)}::date))`);
  return { kind, name, site, week, id };
}

/** The rows of a week, as two queries whose rows are identified by `key`. */
export interface RowSource {
  /** Columns: key, term_id, rank. */
  ids: string;
  /** Columns: key, and the columns of a week without the changes; tags without the one of the fluctuation. */
  rows: string;
}

/**
 * Fills the table of a week, and computes how each row has changed since the week before and four weeks before.
 * Source rows should be sorted by rank, so that rows of similar rank are close on disk: hash joins of the narrow
 * columns first keep that order, while sorting would take as long as everything else.
 * @param find returns the name of a week's table; null if the week is not loaded.
 */
export async function fillWeek(
  client: pg.ClientBase,
  table: WeekTable,
  { ids, rows }: RowSource,
  find: (week: string) => Promise<string | null>,
): Promise<void> {
  const { site, week } = table;
  const before = await find(addDays(week, -7));
  const fourBefore = await find(addDays(week, -28));
  const lastRank = before ? 'coalesce(b.rank, 0)' : '-1';
  await client.query('drop table if exists pg_temp.aba_compared');
  await client.query(
    `create temporary table aba_compared on commit drop as
      select i.key, i.term_id, ${lastRank} as last_rank, ${fourBefore ? 'coalesce(f.rank, 0)' : '-1'} as rank_4w,
        (${fluctuationSql(lastRank, 'i.rank')})::smallint as fluctuation
      from (${ids}) i
      ${before ? `left join ${quoted(before)} b on b.term_id = i.term_id` : ''}
      ${fourBefore ? `left join ${quoted(fourBefore)} f on f.term_id = i.term_id` : ''}`,
  );
  await client.query('analyze aba_compared (key)');
  await client.query(
    `insert into ${quoted(table.name)}
      select ${REPORT_SITES[site].domain}, ${pg.escapeLiteral(week)}::date, s.asin1, s.asin2, s.asin3,
        s.rank, c.term_id, c.last_rank, c.rank_4w,
        s.click1, s.click2, s.click3, s.conv1, s.conv2, s.conv3, c.fluctuation,
        case c.fluctuation when 0 then s.tags else s.tags || c.fluctuation::integer end
      from (${rows}) s join aba_compared c on c.key = s.key`,
  );
}

/** Creates the indexes of a filled table. @throws if two rows have the same term. */
export async function indexWeek(client: pg.ClientBase, { name }: WeekTable): Promise<void> {
  const on = quoted(name);
  await client.query(`create unique index on ${on} (term_id)`);
  await client.query(`create unique index on ${on} (rank, term_id)`);
  await client.query(`create index on ${on} using gin (${foundBySql()}) with (fastupdate = off)`);
  // One inverted index of all three columns would take twice the time, and nearly the same space.
  for (const column of ASIN_COLUMNS)
    await client.query(`create index on ${on} (${column}) where ${column} > 0`);
  await client.query(`analyze ${on}`);
}

/**
 * Attaches a table of a week, in place of the present one if the week is loaded. Readers wait some milliseconds, for the end of
 * the transaction.
 */
export async function attachTable(
  client: pg.ClientBase,
  { kind, site, week, name, id }: WeekTable,
): Promise<void> {
  const present = await tablesOf(client, site, week);
  if (present) await client.query(`drop table ${quoted(present[kind])}`);
  await client.query(
    `alter table ${quoted(`aba_${kind}_${site}`)} attach partition ${quoted(name)}
      for values in (${pg.escapeLiteral(week)})`,
  );
  const columns = { ranks: 'import_id = $3', screens: 'screen_id = $3, screen_is_stale = false' };
  await client.query(`update aba_weeks set ${columns[kind]} where site = $1 and week = $2`, [
    REPORT_SITES[site].domain,
    week,
    id,
  ]);
}

/** Stores that a week was imported, after its tables were attached. */
export async function saveImported(
  client: pg.ClientBase,
  { ranks, screen }: { ranks: WeekTable; screen: WeekTable },
  imported: { source: 'api' | 'csv'; now: number },
): Promise<void> {
  await client.query(
    `insert into aba_weeks (site, week, import_id, screen_id, source, terms, last_rank, imported_at, labelled)
      select $1, $2, $3, $4, $5, count(*), max(rank), $6, coalesce(bool_or(0 < any(tags[1:6])), false)
        from ${quoted(ranks.name)}
      on conflict (site, week) do update set source = excluded.source, terms = excluded.terms,
        last_rank = excluded.last_rank, imported_at = excluded.imported_at, labelled = excluded.labelled`,
    [
      REPORT_SITES[ranks.site].domain,
      ranks.week,
      ranks.id,
      screen.id,
      imported.source,
      new Date(imported.now),
    ],
  );
}

/**
 * Returns the rows of a loaded week, to fill a new table with them: a week that it is compared with has changed.
 */
export function presentRows(name: string): RowSource {
  return {
    ids: `select term_id as key, term_id, rank from ${quoted(name)}`,
    rows: `select term_id as key, asin1, asin2, asin3, rank, click1, click2, click3, conv1, conv2, conv3,
      case fluctuation when 0 then tags else trim_array(tags, 1) end as tags from ${quoted(name)}`,
  };
}

function tableName(kind: TableKind, site: ReportSite, id: string): string {
  return `aba_${kind}_${site}_${id}`;
}

/** Deletes a loaded week with its tables. @returns false if an import is running, or the week is not loaded. */
export function dropWeek(database: Database, site: ReportSite, week: string): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock(${IMPORT_LOCK}) as locked`,
    );
    const tables = rows[0]?.locked ? await tablesOf(client, site, week) : null;
    if (!tables) return false;
    await client.query('delete from aba_weeks where site = $1 and week = $2', [
      REPORT_SITES[site].domain,
      week,
    ]);
    for (const name of [tables.ranks, tables.screens]) await client.query(`drop table ${quoted(name)}`);
    return true;
  });
}
