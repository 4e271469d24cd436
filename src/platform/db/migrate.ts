import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import { projectFile } from '../project.ts';
import { connectToPrimary } from './servers.ts';

const folder = (name: string) => fileURLToPath(projectFile(`src/platform/db/${name}`));

/**
 * Brings a database to the present schema: runs the missing migrations, then creates every SQL function again
 * (functions are code, so only the newest version matters). Safe to call from several processes at once.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = await connectToPrimary(databaseUrl);
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
    // The functions call each other, so their bodies cannot be checked one by one.
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
