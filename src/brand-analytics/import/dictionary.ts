import pg from 'pg';
import { REPORT_SITES, type ReportSite } from '../../keywords/sites.ts';
import { WORD_ID_STEP } from '../../keywords/word-id.ts';
import { ReportError } from './report-error.ts';
import { STAGED_TOKENS } from './stage.ts';

/**
 * Finds the ids of the staged terms of a department, and gives one to each that has none. Imports run one at a time, so the
 * highest id tells the next. Afterwards the temporary table aba_staged_ids has the id of each staged row by its place.
 */
export async function identifyTerms(
  client: pg.ClientBase,
  site: ReportSite,
  week: string,
  department: number,
): Promise<void> {
  const { domain } = REPORT_SITES[site];
  const terms = pg.escapeIdentifier(`aba_terms_${site}`);
  await client.query(
    `create temporary table aba_staged_ids on commit drop as
      select s.at, s.rank, t.id as term_id from aba_staging s left join ${terms} t on t.term = s.term
      where s.department = ${department}`,
  );
  await client.query('analyze aba_staged_ids');
  // A week that is older than all others moves the first days of its terms.
  await client.query(
    `update ${terms} t set first_seen = $1 from aba_staged_ids i where i.term_id = t.id and t.first_seen > $1`,
    [week],
  );
  // The index of tokens takes all new terms in one go, instead of every few thousand.
  await client.query("set local gin_pending_list_limit = '512MB'");
  const fresh = 'aba_staging s join aba_staged_ids i on i.at = s.at and i.term_id is null';
  const { rowCount } = await client.query(
    `insert into ${terms} (site, id, term, tokens, first_seen)
      select $1, greatest((select max(id) from ${terms}), $2) + $3 * row_number() over (), s.term, ${STAGED_TOKENS}, $4
      from ${fresh}
      on conflict (term, site) do nothing`,
    [domain, WORD_ID_STEP + domain, WORD_ID_STEP, week],
  );
  if (!rowCount) return;
  await client.query(
    `insert into aba_staged_ids select s.at, s.rank, t.id from ${fresh} join ${terms} t on t.term = s.term`,
  );
  // What waits to be sorted into the index is read through by every search.
  await client.query('select gin_clean_pending_list($1::regclass)', [`aba_terms_${site}_tokens_idx`]);
  await client.query(`analyze ${terms}`);
}

/** Writes the titles of a report's products, over those of the same products that have changed. */
export async function saveTitles(client: pg.ClientBase, site: ReportSite): Promise<void> {
  const products = pg.escapeIdentifier(`aba_products_${site}`);
  await client.query("set local work_mem = '128MB'");
  await client.query(
    `insert into ${products} as p (site, asin, title)
      select distinct on (t.asin) $1::smallint, t.asin, t.title from aba_titles t
      where not exists (select from ${products} k where k.asin = t.asin and k.title = t.title)
      on conflict (asin, site) do update set title = excluded.title`,
    [REPORT_SITES[site].domain],
  );
}

/**
 * Takes out rows whose term, once normalised, has a better rank already.
 * @throws ReportError when a term has the same rank twice: then the file lists it twice.
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
  if (rows[0]) throw new ReportError(`Rows ${rows[0].at.join(' and ')} are both about "${rows[0].term}".`);
  const { rowCount } = await client.query(
    `delete from aba_staging s using aba_staging better
      where s.department = $1 and better.department = $1 and better.term = s.term and better.rank < s.rank`,
    [department],
  );
  warnings.push(`${rowCount} terms differ from another only in their spelling; the better rank was kept.`);
}
