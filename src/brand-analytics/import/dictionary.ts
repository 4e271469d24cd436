import pg from 'pg';
import { REPORT_SITES, type ReportSite, WORD_ID_STEP } from '../../operations/brand-analytics/keywords.ts';
import { LABEL_KINDS, type LabelKind } from '../label-kinds.ts';
import { ReportError, type ReportRow, withoutControls } from './report.ts';

/** A store has about forty. */
const MOST_DEPARTMENTS = 1_000;

/**
 * Returns ids of labels from the database, and adds new labels in the transaction of the import. Departments are
 * numbered in the order in which they occur, for this import only.
 */
export function askDatabase(client: pg.ClientBase): AskNames {
  const departments = new Map<string, number>();

  async function labelIds(kind: LabelKind, names: readonly string[]): Promise<NameId[]> {
    if (names.length === 0) return [];
    const { rows } = await client.query<{ id: number; name: string }>(LEARN, [LABEL_KINDS[kind], names]);
    return rows.map(({ id, name }) => [name, id]);
  }

  function departmentNumbers(names: readonly string[]): NameId[] {
    for (const name of names) if (!departments.has(name)) departments.set(name, departments.size + 1);
    if (departments.size > MOST_DEPARTMENTS)
      throw new ReportError(`The file has more than ${MOST_DEPARTMENTS} departments.`);
    return names.map((name) => [name, departments.get(name) ?? 0]);
  }

  return async ({ brand, category, department }) => ({
    brand: await labelIds('brand', brand),
    category: await labelIds('category', category),
    department: departmentNumbers(department),
  });
}

const LEARN = `with wanted as (select name from unnest($2::text[]) as name),
    added as (insert into aba_labels (kind, name)
      select $1, w.name from wanted w
      where not exists (select from aba_labels l where l.kind = $1 and l.name = w.name)
      returning id, name)
  select id, name from added
  union all
  select l.id, l.name from wanted w join aba_labels l on l.kind = $1 and l.name = w.name`;

/** Kinds of names that recur in a report. */
type NameKind = 'brand' | 'category' | 'department';

/** Returns the ids of names, including new ones. The returned names are strings of their own. */
export type AskNames = (names: Record<NameKind, string[]>) => Promise<Record<NameKind, NameId[]>>;

type NameId = readonly [name: string, id: number];

/** The ids of names. */
export interface Names {
  /** Loads the ids of the names in these rows. */
  learn(rows: readonly ReportRow[]): Promise<void>;
  /**
   * Returns the id of a name; 0 for ''. Only names of the last rows that were passed to `learn` are certain to be
   * known.
   */
  idOf(kind: NameKind, name: string): number;
}

/** A week has some hundred thousand brands. If there are more than this, they are loaded again. */
const MOST_REMEMBERED = 200_000;

export function openNames(ask: AskNames): Names {
  const known: Record<NameKind, Map<string, number>> = {
    brand: new Map(),
    category: new Map(),
    department: new Map(),
  };
  return {
    async learn(rows) {
      for (const ids of Object.values(known)) if (ids.size > MOST_REMEMBERED) ids.clear();
      const unknown = {
        brand: new Set<string>(),
        category: new Set<string>(),
        department: new Set<string>(),
      };
      const look = (kind: NameKind, name: string) => {
        if (!known[kind].has(name)) unknown[kind].add(withoutControls(name));
      };
      for (const { brands, categories, department } of rows) {
        for (const name of brands) look('brand', name);
        for (const name of categories) look('category', name);
        look('department', department);
      }
      for (const names of Object.values(unknown)) names.delete('');
      if (Object.values(unknown).every(({ size }) => size === 0)) return;
      const found = await ask({
        brand: [...unknown.brand],
        category: [...unknown.category],
        department: [...unknown.department],
      });
      // Keeps the strings that the database returned. The strings of the file are slices of its text, and would keep the whole text in memory.
      for (const kind of Object.keys(known) as NameKind[])
        for (const [name, id] of found[kind]) known[kind].set(name, id);
    },
    idOf: (kind, name) =>
      name === '' ? 0 : (known[kind].get(name) ?? known[kind].get(withoutControls(name)) ?? 0),
  };
}

/** The table of a site's terms that a week refers to: a new table if the dictionary was rewritten. */
export interface Dictionary {
  table: string;
  isRewritten: boolean;
  /** Whether known terms have an earlier first week now. */
  hasEarlierDates: boolean;
}

/**
 * Finds the ids of the staged terms of a department, and assigns new ids to new terms in the order of the report.
 * Imports run one at a time, so the next id follows the highest one. Afterwards the temporary table aba_staged_ids
 * has the id of each staged row, and the first week of its term.
 * @throws a unique violation if a new term occurs twice.
 */
export async function identifyTerms(
  client: pg.ClientBase,
  site: ReportSite,
  week: string,
  department: number,
): Promise<Dictionary> {
  const { domain } = REPORT_SITES[site];
  const present = `aba_terms_${site}`;
  const terms = pg.escapeIdentifier(present);
  const none = WORD_ID_STEP + domain;
  const { rows } = await client.query<{ highest: number }>(
    `select coalesce(max(id), $1) as highest from ${terms}`,
    [none],
  );
  const highest = rows[0]?.highest ?? none;
  await client.query(
    `create temporary table aba_staged_ids on commit drop as
      select s.at, s.rank, t.id is null as is_new, least(t.first_seen, ${pg.escapeLiteral(week)}::date) as first_seen,
        coalesce(t.id, ${highest} + ${WORD_ID_STEP} * (count(*) filter (where t.id is null) over (rows unbounded preceding)))::integer
          as term_id
      from aba_staging s left join ${terms} t on t.term = s.term
      where s.department = ${department}`,
  );
  await client.query('analyze aba_staged_ids');
  // A week that is older than all others changes the first dates of its terms.
  const { rowCount: earlier } = await client.query(
    `update ${terms} t set first_seen = $1 from aba_staged_ids i where i.term_id = t.id and t.first_seen > $1`,
    [week],
  );
  const hasEarlierDates = (earlier ?? 0) > 0;
  const { rows: counted } = await client.query<{ fresh: number }>(
    'select count(*)::integer as fresh from aba_staged_ids where is_new',
  );
  const fresh = counted[0]?.fresh ?? 0;
  if (fresh === 0) return { table: present, isRewritten: false, hasEarlierDates };
  await learnWords(client, site);
  const newTerms = `select ${domain}, i.term_id, s.term, ${STAGED_TOKENS}, ${pg.escapeLiteral(week)}::date
    from aba_staging s join aba_staged_ids i on i.at = s.at and i.is_new`;
  if (fresh > (highest - none) / WORD_ID_STEP)
    return { table: await rewriteDictionary(client, site, newTerms), isRewritten: true, hasEarlierDates };
  // The index of tokens then adds all new terms in one step, instead of every few thousand.
  await client.query("set local gin_pending_list_limit = '512MB'");
  await client.query(`insert into ${terms} (${COLUMNS}) ${newTerms}`);
  // Each search scans the pending list of the index, so it is emptied.
  await client.query('select gin_clean_pending_list($1::regclass)', [`${present}_tokens_idx`]);
  await client.query(`analyze ${terms}`);
  return { table: present, isRewritten: false, hasEarlierDates };
}

const COLUMNS = 'site, id, term, tokens, first_seen';

/** Adds the words of the new terms to the words by which keywords are found. */
async function learnWords(client: pg.ClientBase, site: ReportSite): Promise<void> {
  const { domain } = REPORT_SITES[site];
  const words = pg.escapeIdentifier(`aba_words_${site}`);
  await client.query("set local gin_pending_list_limit = '512MB'");
  await client.query(
    `insert into ${words} (site, word, stem)
      select ${domain}, w, aba_stem(${domain}, w) from (
        select distinct w from (
          select distinct unnest(string_to_array(s.term, ' ')) as part
          from aba_staging s join aba_staged_ids i on i.at = s.at and i.is_new) p, aba_words_of(p.part) w
        -- Most parts are known words.
        where not exists (select from ${words} k where k.word = p.part)) d
      where not exists (select from ${words} k where k.word = w)`,
  );
  await client.query('select gin_clean_pending_list($1::regclass)', [`aba_words_${site}_word_idx`]);
}

/** Filling a table and then creating its indexes takes a third of the time of adding terms to three indexes. */
async function rewriteDictionary(client: pg.ClientBase, site: ReportSite, newTerms: string): Promise<string> {
  const present = `aba_terms_${site}`;
  const table = `${present}_rewritten`;
  const { domain } = REPORT_SITES[site];
  // With this constraint, attaching the table does not scan it.
  await client.query(
    `create table ${table} (like ${present} including defaults,
      constraint ${table}_site check (site is not null and site = ${domain}))`,
  );
  await client.query(`insert into ${table} (${COLUMNS}) select ${COLUMNS} from ${present} order by id`);
  await client.query(`insert into ${table} (${COLUMNS}) ${newTerms}`);
  await client.query(`alter table ${table} add primary key (id, site)`);
  await client.query(`create unique index on ${table} (term, site)`);
  await client.query(`create index on ${table} using gin (tokens)`);
  await client.query(`analyze ${table}`);
  return table;
}

/** Replaces the present dictionary with a rewritten one. Readers wait for the end of the transaction. */
export async function attachTerms(
  client: pg.ClientBase,
  site: ReportSite,
  { table, isRewritten }: Dictionary,
): Promise<void> {
  if (!isRewritten) return;
  const present = `aba_terms_${site}`;
  await client.query(`drop table ${present}`);
  await client.query(`alter table ${table} rename to ${present}`);
  for (const index of ['pkey', 'term_site_idx', 'tokens_idx'])
    await client.query(`alter index ${table}_${index} rename to ${present}_${index}`);
  await client.query(
    `alter table aba_terms attach partition ${present} for values in (${REPORT_SITES[site].domain})`,
  );
  await client.query(`alter table ${present} drop constraint ${table}_site`);
}

/** Stores the titles of a report's products, and updates those that have changed and are not of a later week. */
export async function saveTitles(client: pg.ClientBase, site: ReportSite, week: string): Promise<void> {
  const products = pg.escapeIdentifier(`aba_products_${site}`);
  await client.query("set local work_mem = '128MB'");
  await client.query(
    `insert into ${products} as p (site, week, asin, title)
      select distinct on (t.asin) $1::smallint, $2::date, t.asin, t.title from aba_titles t
      where not exists (select from ${products} k where k.asin = t.asin and (k.title = t.title or k.week > $2::date))
      on conflict (asin, site) do update set week = excluded.week, title = excluded.title`,
    [REPORT_SITES[site].domain, week],
  );
}

/**
 * Deletes rows whose normalised term also occurs with a better rank.
 * @throws ReportError if a term has the same rank twice: then the file lists it twice.
 */
export async function withoutDuplicates(
  client: pg.ClientBase,
  department: number,
  warnings: string[],
): Promise<void> {
  const { rows } = await client.query<{ term: string; at: number[] }>(
    `select term, array_agg(at order by at) as at from aba_staging where department = $1
      group by term, rank having count(*) > 1 limit 1`,
    [department],
  );
  if (rows[0])
    throw new ReportError(`Rows ${rows[0].at.join(' and ')} have the same term, "${rows[0].term}".`);
  const { rowCount } = await client.query(
    `delete from aba_staging s using aba_staging better
      where s.department = $1 and better.department = $1 and better.term = s.term and better.rank < s.rank`,
    [department],
  );
  warnings.push(`${rowCount} terms differ from another only in their spelling; the better rank was kept.`);
}

/** The tokens of a staged row, as SQL. */
const STAGED_TOKENS = 's.tags[7:6 + s.tokens]';
