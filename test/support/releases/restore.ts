import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { inject } from 'vitest';
import { migrate } from '../../../src/platform/db/migrate.ts';
import type { Release } from './release.ts';

const MIGRATIONS = 'src/platform/db/migrations';

/**
 * Creates a database with the schema and the rows of a release, and brings it up to date, as an upgrade does.
 * @returns its address, and what removes it.
 */
export async function restoreDatabase(release: Release): Promise<{ url: string; drop(): Promise<void> }> {
  const admin = new URL(inject('templateDatabaseUrl'));
  admin.pathname = '/postgres';
  const url = new URL(admin);
  const name = `release_${randomBytes(6).toString('hex')}`;
  url.pathname = `/${name}`;
  await withClient(admin.href, (client) => client.query(`create database ${name} template template0`));
  await withClient(url.href, async (client) => {
    const files = (await readdir(MIGRATIONS)).sort();
    const count = files.filter((file) => file.replace(/\.sql$/, '') <= release.migration).length;
    const options = {
      dir: MIGRATIONS,
      direction: 'up',
      migrationsTable: 'migrations',
      noLock: true,
    } as const;
    await runner({ ...options, dbClient: client, count, log: () => {} });
    await fill(client, release);
  });
  await migrate(url.href);
  return {
    url: url.href,
    drop: () => withClient(admin.href, (client) => client.query(`drop database ${name}`)),
  };
}

async function withClient(url: string, task: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await task(client);
  } finally {
    await client.end();
  }
}

async function fill(client: pg.Client, { tables, sequences }: Release): Promise<void> {
  // Rows are written in any order, without triggers and checks of references.
  await client.query('set session_replication_role = replica');
  for (const { name, rows } of tables) {
    const { rows: generated } = await client.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = $1::regclass and attgenerated <> ''`,
      [name],
    );
    const names = Object.keys(rows[0] ?? {}).filter(
      (column) => !generated.some((one) => one.name === column),
    );
    const columns = names.map((column) => `"${column}"`).join(', ');
    // A migration may have written rows of its own.
    await client.query(`delete from "${name}"`);
    await client.query(
      `insert into "${name}" (${columns}) overriding system value
       select ${columns} from json_populate_recordset(null::"${name}", $1)`,
      [JSON.stringify(rows)],
    );
  }
  for (const [name, value] of Object.entries(sequences))
    await client.query('select setval($1::text::regclass, $2)', [name, value]);
}
