import type pg from 'pg';
import { REPORT_SITES, type ReportSite } from '../../operations/brand-analytics/keywords.ts';
import { addDays } from '../../platform/calendar.ts';
import { LABEL_KINDS } from '../label-kinds.ts';
import { mayLabel } from '../product-labels.ts';
import { SECOND_CHANGE_DAYS } from '../screen-columns.ts';
import { attachTerms, type Dictionary, identifyTerms, saveTitles, withoutDuplicates } from './dictionary.ts';
import type { ImportRequest, ImportResult, ReadReport } from './import-week.ts';
import {
  attachTable,
  createTable,
  fillWeek,
  indexWeek,
  presentRows,
  type RowSource,
  ranksOf,
  saveImported,
  tablesOf,
  type WeekTable,
} from './publish.ts';
import { ReportError, type ReportRow } from './report.ts';
import { createScreen, markStaleScreens, presentWording, STAGED_WORDING } from './screen-table.ts';

/** The ranks of a report, by department. */
export class Ranking {
  readonly #departments = new Map<number, { lastRank: number; rows: number }>();

  /** @throws ReportError if ranks decrease. */
  follow(department: number, { rank, at }: ReportRow): void {
    const { lastRank, rows } = this.#departments.get(department) ?? { lastRank: 0, rows: 0 };
    if (rank < lastRank)
      throw new ReportError(`Row ${at}: rank ${rank} follows rank ${lastRank}; ranks must not decrease.`);
    this.#departments.set(department, { lastRank: rank, rows: rows + 1 });
  }

  /** Number of rows of each department, the one with the most rows first. */
  get departments(): { department: number; rows: number }[] {
    return Array.from(this.#departments, ([department, { rows }]) => ({ department, rows })).sort(
      (a, b) => b.rows - a.rows || a.department - b.department,
    );
  }
}

/**
 * Prepares the temporary table aba_labelled, with the label ids of the products that were looked up here.
 * @param provider the provider of product data.
 * @returns the staged rows with these labels, as SQL; null if no product is known.
 */
async function rowsWithLabels(
  client: pg.ClientBase,
  site: ReportSite,
  provider: string,
): Promise<string | null> {
  const values = [REPORT_SITES[site].domain, provider];
  const { rowCount } = await client.query(
    'select from product_labels where site = $1 and provider = $2 limit 1',
    values,
  );
  if (!rowCount) return null;
  const kinds = Object.entries(LABEL_KINDS);
  for (const [column, kind] of kinds)
    await client.query(
      `insert into aba_labels (kind, name)
        select ${kind}, name from (select distinct ${column} as name from product_labels
          where site = $1 and provider = $2 and ${column} is not null) n
        where not exists (select from aba_labels l where l.kind = ${kind} and l.name = n.name)`,
      values,
    );
  await client.query('drop table if exists pg_temp.aba_labelled');
  await client.query(
    'create temporary table aba_labelled (asin bigint, brand integer, category integer) on commit drop',
  );
  await client.query(
    `insert into aba_labelled select p.asin, coalesce(b.id, 0), coalesce(c.id, 0) from product_labels p
      left join aba_labels b on b.kind = ${LABEL_KINDS.brand} and b.name = p.brand
      left join aba_labels c on c.kind = ${LABEL_KINDS.category} and c.name = p.category
      where p.site = $1 and p.provider = $2`,
    values,
  );
  await client.query('analyze aba_labelled');
  return `select s.at as key, s.asin1, s.asin2, s.asin3, s.rank, s.click1, s.click2, s.click3, s.conv1, s.conv2, s.conv3,
      array[${kinds.map(([column]) => distinctThree(column)).join(', ')}] || s.tags[7:] as tags
    from aba_staging s
      left join aba_labelled p1 on p1.asin = s.asin1
      left join aba_labelled p2 on p2.asin = s.asin2
      left join aba_labelled p3 on p3.asin = s.asin3`;
}

/** Returns the labels of the three products, each once, as SQL; 0 where there is none. */
function distinctThree(column: string): string {
  const [first, second, third] = ['p1', 'p2', 'p3'].map((product) => `coalesce(${product}.${column}, 0)`);
  return `${first}, case when ${second} = ${first} then 0 else ${second} end,
    case when ${third} in (${first}, ${second}) then 0 else ${third} end`;
}

/** Settings for large joins and indexes. The defaults of the server are for many small queries. */
const ROOM = [
  "set local work_mem = '128MB'",
  "set local maintenance_work_mem = '256MB'",
  // For reports of three million rows: a hash join in one batch keeps their order.
  'set local hash_mem_multiplier = 3',
];

/** The import warns if a week has more or fewer terms than usual by this share. */
const USUAL_SHARE = 0.3;

/** The usual number of terms is the average of this many earlier weeks. */
const USUAL_WEEKS = 4;

const UNIQUE_VIOLATION = '23505';

/** Creates the tables of the staged report and attaches them, up to the commit. */
export async function saveWeek(
  client: pg.ClientBase,
  titles: pg.ClientBase,
  { site, provider, labelsFrom, now, onProgress }: ImportRequest,
  { week, source, rows, ranking }: ReadReport,
): Promise<ImportResult> {
  for (const setting of ROOM) await client.query(setting);
  const labelled =
    source === 'api' && labelsFrom !== undefined && mayLabel(labelsFrom, provider)
      ? await rowsWithLabels(client, site, labelsFrom)
      : null;
  const staged = { ...STAGED_ROWS, ...(labelled && { rows: labelled }) };
  const warnings: string[] = [];
  const onFilled = () => onProgress?.({ rows, stage: 'indexing' });
  // The two connections work at the same time.
  const [{ ranks, screen, dictionary }] = await Promise.all([
    buildWeek(client, site, week, staged, chooseDepartment(ranking, warnings), warnings, onFilled),
    saveTitles(titles, site, week),
  ]);
  await client.query('drop table aba_staging');

  const replaced = (await tablesOf(client, site, week)) !== null;
  const dependents = await rebuildDependents(client, ranks, dictionary);
  // Readers wait from here on.
  for (const table of [ranks, ...dependents.ranks, screen, ...dependents.screens])
    await attachTable(client, table);
  await saveImported(client, { ranks, screen }, { source, now });
  await attachTerms(client, site, dictionary);
  const renewed = dependents.screens.map((each) => each.week);
  if (dictionary.hasEarlierDates) await markStaleScreens(client, site, week, renewed);
  const terms = await compareWithUsual(client, ranks, warnings);
  return { week, terms, replaced, recomputed: renewed, warnings };
}

const STAGED_ROWS = {
  ids: 'select at as key, term_id, rank from aba_staged_ids',
  rows: 'select at as key, * from aba_staging',
};

interface BuiltWeek {
  ranks: WeekTable;
  screen: WeekTable;
  dictionary: Dictionary;
}

async function buildWeek(
  client: pg.ClientBase,
  site: ReportSite,
  week: string,
  staged: RowSource,
  department: number,
  warnings: string[],
  onFilled: () => void,
): Promise<BuiltWeek> {
  const build = async (): Promise<BuiltWeek> => {
    const dictionary = await identifyTerms(client, site, week, department);
    const ranks = await createTable(client, 'ranks', site, week);
    const find = (other: string) => ranksOf(client, site, other);
    await fillWeek(client, ranks, staged, find);
    onFilled();
    await indexWeek(client, ranks);
    const screen = await createScreen(
      client,
      { site, week, ranks: ranks.name, wording: STAGED_WORDING },
      find,
    );
    return { ranks, screen, dictionary };
  };
  // Later plans depend on these statistics.
  await client.query('analyze aba_staging (at, department, term)');
  await client.query('savepoint staged');
  try {
    return await build();
  } catch (error) {
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    await client.query('rollback to savepoint staged');
    await withoutDuplicates(client, department, warnings);
    return build();
  }
}

/** A report may rank several departments; the one with the most rows is the whole store. */
function chooseDepartment({ departments }: Ranking, warnings: string[]): number {
  const [largest, ...others] = departments;
  const left = others.reduce((sum, { rows }) => sum + rows, 0);
  if (left > 0) warnings.push(`${left} rows of ${others.length} smaller departments were left out.`);
  return largest?.department ?? 0;
}

/** Rebuilds the tables of the weeks that are compared with this one. */
async function rebuildDependents(
  client: pg.ClientBase,
  table: WeekTable,
  dictionary: Dictionary,
): Promise<{ ranks: WeekTable[]; screens: WeekTable[] }> {
  const { site, week } = table;
  const rebuilt = { ranks: [] as WeekTable[], screens: [] as WeekTable[] };
  const find = async (other: string) => (other === week ? table.name : ranksOf(client, site, other));
  for (const days of [7, 28, SECOND_CHANGE_DAYS]) {
    const dependent = addDays(week, days);
    const present = await tablesOf(client, site, dependent);
    if (!present) continue;
    let { ranks } = present;
    // Only screens compare weeks that are so far apart.
    if (days !== SECOND_CHANGE_DAYS) {
      const rebuiltTable = await createTable(client, 'ranks', site, dependent);
      await fillWeek(client, rebuiltTable, presentRows(ranks), find);
      await indexWeek(client, rebuiltTable);
      rebuilt.ranks.push(rebuiltTable);
      ranks = rebuiltTable.name;
    }
    const wording = presentWording(present.screens, dictionary.table);
    rebuilt.screens.push(await createScreen(client, { site, week: dependent, ranks, wording }, find));
  }
  return rebuilt;
}

async function compareWithUsual(
  client: pg.ClientBase,
  { site, week }: WeekTable,
  warnings: string[],
): Promise<number> {
  const { rows } = await client.query<{ terms: number }>(
    'select terms from aba_weeks where site = $1 and week <= $2 order by week desc limit $3',
    [REPORT_SITES[site].domain, week, USUAL_WEEKS + 1],
  );
  const [terms = 0, ...before] = rows.map((row) => row.terms);
  const usual = before.reduce((sum, each) => sum + each, 0) / before.length;
  if (before.length > 0 && Math.abs(terms - usual) > USUAL_SHARE * usual)
    warnings.push(
      `It has ${terms} terms; the ${before.length} weeks before have ${Math.round(usual)} on average.`,
    );
  return terms;
}
