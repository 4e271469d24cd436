import type pg from 'pg';
import { REPORT_SITES, type ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import { LABEL_KINDS } from '../label-kinds.ts';

/**
 * Prepares the temporary table aba_labelled, with the label ids of the products that were looked up here.
 * @param provider the provider of product data.
 * @returns the staged rows with these labels, as SQL; null if no product is known.
 */
export async function rowsWithLabels(
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
