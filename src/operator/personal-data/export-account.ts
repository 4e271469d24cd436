import { testAccountOf } from '../../accounts/test-accounts.ts';
import type { Database } from '../../platform/db/pool.ts';
import { ACCOUNT_TABLES, type AccountTable, rowsOf } from './account-tables.ts';

const PAGE_ROWS = 500;

/**
 * Yields the data of an account as the pieces of one JSON document: a list for each section, without secrets. Rows are read in
 * pages, so memory stays bounded and no connection waits for a slow reader. The data of the test account is in `test`.
 */
export async function* exportAccount(
  database: Database,
  accountId: number,
  now: number,
): AsyncGenerator<string> {
  yield `{"accountId":${accountId},"exportedAt":"${new Date(now).toISOString()}","live":`;
  yield* sectionsOf(database, accountId);
  yield ',"test":';
  yield* sectionsOf(database, testAccountOf(accountId));
  yield '}\n';
}

async function* sectionsOf(database: Database, accountId: number): AsyncGenerator<string> {
  let separator = '{';
  for (const [name, table] of Object.entries(ACCOUNT_TABLES)) {
    if ('not' in table.exported) continue;
    yield `${separator}"${table.exported.section}":[`;
    separator = ',';
    let isFirst = true;
    for await (const rows of pagesOf(database, name, table, accountId)) {
      yield `${isFirst ? '' : ','}${rows.join(',\n')}`;
      isFirst = false;
    }
    yield ']';
  }
  yield '}';
}

/** Yields the rows of a table as JSON, page by page. */
async function* pagesOf(
  database: Database,
  name: string,
  table: AccountTable,
  accountId: number,
): AsyncGenerator<string[]> {
  const columns = table.key.map(([column]) => `t.${column}`).join(', ');
  const after = table.key.map(([, type], i) => `($2::jsonb ->> ${i})::${type}`).join(', ');
  const omit = 'section' in table.exported ? (table.exported.omit ?? []) : [];
  let cursor: string | null = null;
  for (;;) {
    const { rows }: { rows: { row: string; cursor: string }[] } = await database.query(
      `select (to_jsonb(t) - $3::text[])::text as row, jsonb_build_array(${columns})::text as cursor
       from ${name} t where ${rowsOf(table)} and ($2::jsonb is null or (${columns}) > (${after}))
       order by ${columns} limit ${PAGE_ROWS}`,
      [accountId, cursor, omit],
    );
    if (rows.length > 0) yield rows.map(({ row }) => row);
    cursor = rows.at(-1)?.cursor ?? null;
    if (rows.length < PAGE_ROWS) return;
  }
}
