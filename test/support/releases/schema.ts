import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../../src/platform/db/pool.ts';
import type { Release, StoredTable } from './release.ts';

/** Tables that a migration fills, or that only migrations use. */
const NOT_RECORDED = new Set(['migrations']);

type SqlParts = Pick<Release, 'migration' | 'functions' | 'relations' | 'tables' | 'sequences'>;

/** Records the schema of a database as a release uses it, with all rows. */
export async function recordDatabase(database: Database): Promise<SqlParts> {
  const relations = await relationsOf(database);
  const ask = async <Row>(text: string) => (await database.query(text)).rows as Row[];
  const [last] = await ask<{ name: string }>('select max(name) as name from migrations');
  const sequences = await ask<{ name: string; value: number }>(
    `select sequencename as name, last_value as value from pg_sequences
     where schemaname = 'public' and last_value is not null order by 1`,
  );
  const tables: StoredTable[] = [];
  const names = await ask<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  for (const { name } of names.filter((table) => !NOT_RECORDED.has(table.name))) {
    const rows = await ask<{ row: Record<string, unknown> }>(`select to_jsonb(t) as row from "${name}" t`);
    if (rows.length > 0) tables.push({ name, rows: rows.map(({ row }) => row) });
  }
  return {
    migration: last?.name ?? '',
    functions: await calledFunctions(database),
    relations,
    tables,
    sequences: Object.fromEntries(sequences.map(({ name, value }) => [name, value])),
  };
}

/** Returns tables, views and composite types with their columns. Partitions are parts of their tables. */
export async function relationsOf(database: Database): Promise<Release['relations']> {
  const { rows } = await database.query<Release['relations'][number]>(
    `select c.relname as name, json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
       'needed', a.attnotnull and not a.atthasdef and a.attidentity = '') order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'c') and not c.relispartition
     group by c.relname order by c.relname`,
  );
  return rows;
}

/** Returns the functions of the schema, by signature, with what they return. */
export async function functionsOf(database: Database): Promise<Map<string, string>> {
  const { rows } = await database.query<{ signature: string; result: string }>(
    `select oid::regprocedure::text as signature, pg_get_function_result(oid) as result
     from pg_proc where pronamespace = 'public'::regnamespace and proname like 'souk%' order by 1`,
  );
  return new Map(rows.map(({ signature, result }) => [signature, result]));
}

/** Returns the functions whose names are called in the sources. */
async function calledFunctions(database: Database): Promise<Release['functions']> {
  const called = new Set<string>();
  for (const folder of ['src', 'jobs', 'workers']) {
    const files = await readdir(folder, { recursive: true });
    for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
      const text = await readFile(join(folder, file), 'utf8');
      for (const [, name = ''] of text.matchAll(/\b(souk_[a-z_0-9]+)\(/g)) called.add(name);
    }
  }
  const functions = [...(await functionsOf(database))].map(([signature, result]) => ({ signature, result }));
  return functions.filter(({ signature }) => called.has(signature.slice(0, signature.indexOf('('))));
}
