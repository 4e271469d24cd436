import pg from 'pg';
import { REPORT_SITES, type ReportSite, siteOfDomain } from '../../operations/brand-analytics/keywords.ts';
import { addDays } from '../../platform/calendar.ts';
import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { FIRST_CHANGE_DAYS, SECOND_CHANGE_DAYS, UNKNOWN_CHANGE } from '../screen-columns.ts';
import { attachTable, createTable, IMPORT_LOCK, ranksOf, tablesOf, type WeekTable } from './publish.ts';

const quoted = (name: string) => pg.escapeIdentifier(name);

/** The wording and first week of each term of a staged report, as SQL: term_id, first_seen, words, bits1, bits2. */
export const STAGED_WORDING =
  'select i.term_id, i.first_seen, s.words, s.bits1, s.bits2 from aba_staged_ids i join aba_staging s on s.at = i.at';

/** The same of a week that has a table. @param dictionary the table of terms, with the right first weeks. */
export function presentWording(screen: string, dictionary: string): string {
  return `select p.term_id, d.first_seen, p.words, p.bits1, p.bits2 from ${quoted(screen)} p join ${quoted(dictionary)} d on d.id = p.term_id`;
}

/**
 * Creates the table of a week that screens read, from the table of its ranks: one pass, with hash joins of what the ranks lack.
 * @param wording a query such as `STAGED_WORDING`.
 * @param find returns the name of a week's table of ranks; null if the week is not loaded.
 */
export async function createScreen(
  client: pg.ClientBase,
  { site, week, ranks, wording }: { site: ReportSite; week: string; ranks: string; wording: string },
  find: (week: string) => Promise<string | null>,
): Promise<WeekTable> {
  const table = await createTable(client, 'screens', site, week);
  const { domain } = REPORT_SITES[site];
  const date = `${pg.escapeLiteral(week)}::date`;
  const first = await find(addDays(week, -FIRST_CHANGE_DAYS));
  const second = await find(addDays(week, -SECOND_CHANGE_DAYS));
  await client.query(
    `insert into ${quoted(table.name)} (rank, term_id, change4, change12, first_seen, click_sum, conv_sum,
        brand1, brand2, brand3, week, site, bits1, bits2, words)
      select r.rank, r.term_id, ${changeSql(first && 'f')}, ${changeSql(second && 's')}, w.first_seen,
        ${sumSql('click')}, ${sumSql('conv')}, r.tags[1], r.tags[2], r.tags[3], ${date}, ${domain}, w.bits1, w.bits2, w.words
      from ${quoted(ranks)} r join (${wording}) w on w.term_id = r.term_id
      ${first ? `left join ${quoted(first)} f on f.term_id = r.term_id` : ''}
      ${second ? `left join ${quoted(second)} s on s.term_id = r.term_id` : ''}`,
  );
  await client.query(`analyze ${quoted(table.name)}`);
  return table;
}

/** The places since the rank in an earlier week, as SQL. */
function changeSql(earlier: string | null): string {
  return earlier ? `coalesce(${earlier}.rank - r.rank, ${UNKNOWN_CHANGE})` : String(UNKNOWN_CHANGE);
}

/** The sum of three shares, as SQL; -1 if all are blank. */
function sumSql(share: 'click' | 'conv'): string {
  const shares = [1, 2, 3].map((place) => `r.${share}${place}`);
  const sum = shares.map((column) => `greatest(${column}, 0)`).join(' + ');
  return `case when greatest(${shares.join(', ')}) < 0 then -1 else ${sum} end`;
}

/** Marks the weeks after an imported one whose terms may have been seen earlier than their tables say. */
export async function markStaleScreens(
  client: pg.ClientBase,
  site: ReportSite,
  week: string,
  renewed: readonly string[],
): Promise<void> {
  await client.query(
    `update aba_weeks set screen_is_stale = true
      where site = $1 and week > $2 and week <> all($3::date[])`,
    [REPORT_SITES[site].domain, week, renewed],
  );
}

/**
 * Creates the newest marked table again. Until then, screens read the first weeks of terms from the dictionary, which takes
 * longer.
 * @returns the week; null if no week is marked, or an import is running.
 */
export function renewStaleScreen(database: Database): Promise<{ site: ReportSite; week: string } | null> {
  return inTransaction(database, async (client) => {
    const { rows: locked } = await client.query<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock(${IMPORT_LOCK}) as locked`,
    );
    if (!locked[0]?.locked) return null;
    const { rows } = await client.query<{ domain: number; week: string }>(
      'select site as domain, week::text from aba_weeks where screen_is_stale order by week desc, site limit 1',
    );
    const [stale] = rows;
    const site = stale && siteOfDomain(stale.domain);
    if (!site) return null;
    const { week } = stale;
    const tables = await tablesOf(client, site, week);
    if (!tables) return null;
    const find = (other: string) => ranksOf(client, site, other);
    await client.query("set local work_mem = '128MB'");
    const wording = presentWording(tables.screens, `aba_terms_${site}`);
    const { ranks } = tables;
    await attachTable(client, await createScreen(client, { site, week, ranks, wording }, find));
    return { site, week };
  });
}
