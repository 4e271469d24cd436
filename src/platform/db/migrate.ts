import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';

const folder = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Brings a database to the present schema: the numbered migrations that are missing, then every SQL function anew
 * (they are code, and the newest version is the only one). Safe to call from several processes at once.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // The query under way rejects as well; unheard, the event would end the process when the server stops first.
  client.on('error', () => {});
  await client.connect();
  try {
    // node-pg-migrate's own lock covers the migrations; this one covers the functions as well.
    await client.query("select pg_advisory_lock(hashtext('souk.migrate'))");
    await runner({
      dbClient: client,
      dir: folder('./migrations'),
      direction: 'up',
      migrationsTable: 'migrations',
      noLock: true,
      log: () => {},
    });
    // They call each other, so their bodies cannot be checked one by one.
    await client.query(`begin; set local check_function_bodies = off; ${await functions()}; commit`);
  } finally {
    await client.end();
  }
}

async function functions(): Promise<string> {
  const names = (await readdir(folder('./functions'))).sort();
  const texts = await Promise.all(names.map((name) => readFile(folder(`./functions/${name}`), 'utf8')));
  return texts.join('\n');
}
