import type pg from 'pg';
import { addDays } from '../../operations/brand-analytics/keywords/report-week.ts';
import { REPORT_SITES, type ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import { DEMO } from '../../operations/providers.ts';
import { rowsWithLabels } from './complete-labels.ts';
import type { Ranking } from './departments.ts';
import { attachTerms, type Dictionary, identifyTerms, saveTitles, withoutDuplicates } from './dictionary.ts';
import type { ImportRequest, ImportResult, ReadReport } from './import-week.ts';
import {
  attachWeek,
  createWeekTable,
  fillWeek,
  findWeekTable,
  indexWeek,
  presentRows,
  type RowSource,
  type WeekTable,
} from './publish.ts';

/** Settings for large joins and indexes. The defaults of the server are for many small queries. */
const ROOM = [
  "set local work_mem = '128MB'",
  "set local maintenance_work_mem = '256MB'",
  // For reports of three million rows: a hash join in one batch keeps their order.
  'set local hash_mem_multiplier = 3',
  // Compiling a query takes longer than running it on a million rows.
  'set local jit = off',
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
    source === 'api' && labelsFrom !== undefined && (labelsFrom !== DEMO || provider === DEMO)
      ? await rowsWithLabels(client, site, labelsFrom)
      : null;
  const staged = { ...STAGED_ROWS, ...(labelled && { rows: labelled }) };
  const warnings: string[] = [];
  const onFilled = () => onProgress?.({ rows, stage: 'indexing' });
  // The two connections work at the same time.
  const [{ table, dictionary }] = await Promise.all([
    buildWeek(client, site, week, staged, chooseDepartment(ranking, warnings), warnings, onFilled),
    saveTitles(titles, site),
  ]);
  await client.query('drop table aba_staging');

  const replaced = (await findWeekTable(client, site, week)) !== null;
  const dependents = await rebuildDependents(client, table);
  // Readers wait from here on.
  await attachWeek(client, table, { source, now });
  for (const dependent of dependents) await attachWeek(client, dependent, null);
  await attachTerms(client, site, dictionary);
  const terms = await compareWithUsual(client, table, warnings);
  return { week, terms, replaced, recomputed: dependents.map((dependent) => dependent.week), warnings };
}

const STAGED_ROWS = {
  ids: 'select at as key, term_id, rank from aba_staged_ids',
  rows: 'select at as key, * from aba_staging',
};

interface BuiltWeek {
  table: WeekTable;
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
    const table = await createWeekTable(client, site, week);
    await fillWeek(client, table, staged, (other) => findWeekTable(client, site, other));
    onFilled();
    await indexWeek(client, table);
    return { table, dictionary };
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

/** Rebuilds the weeks that are compared with this one. */
async function rebuildDependents(client: pg.ClientBase, table: WeekTable): Promise<WeekTable[]> {
  const { site, week } = table;
  const find = async (other: string) => (other === week ? table.name : findWeekTable(client, site, other));
  const rebuilt: WeekTable[] = [];
  for (const dependent of [addDays(week, 7), addDays(week, 28)]) {
    const present = await findWeekTable(client, site, dependent);
    if (!present) continue;
    const rebuiltTable = await createWeekTable(client, site, dependent);
    await fillWeek(client, rebuiltTable, presentRows(present), find);
    await indexWeek(client, rebuiltTable);
    rebuilt.push(rebuiltTable);
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
