import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import { createLogger } from '../log.ts';
import { projectFile } from '../project.ts';
import { openDatabase, STATEMENT_LIMITS } from './pool.ts';

const ROOT = fileURLToPath(projectFile(''));
/** The migrations, next to the code of their tables. Their numbers are unique over all folders, and give the order. */
const SCHEMA = 'src/*/schema/*.sql';
/** The SQL functions, next to the code that calls them. */
const FUNCTIONS = 'src/*/sql/*.sql';

/**
 * Brings a database to the present schema: runs the missing migrations, then creates every SQL function again
 * (functions are code, so only the newest version matters). Safe to call from several processes at the same time.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const limits = STATEMENT_LIMITS.unlimited;
  const database = openDatabase(databaseUrl, createLogger('silent'), { max: 1, limits, connectMs: 5_000 });
  try {
    const client = await database.connect();
    try {
      // node-pg-migrate's own lock covers the migrations; this one covers the functions as well.
      await client.query("select pg_advisory_lock(hashtext('souk.migrate'))");
      await runner({
        dbClient: client,
        dir: `${literally(ROOT)}${SCHEMA}`,
        useGlob: true,
        direction: 'up',
        migrationsTable: 'migrations',
        noLock: true,
        log: () => {},
      });
      // The functions call each other, so their bodies cannot be checked one by one.
      await client.query(`begin; set local check_function_bodies = off; ${await functions()}; commit`);
    } finally {
      // The pool ends only after all its connections are released.
      client.release();
    }
  } finally {
    await database.end();
  }
}

/** Returns the names of all migrations, in their order. */
export function migrationNames(): string[] {
  return filesOf(SCHEMA)
    .map((file) => basename(file, '.sql'))
    .sort();
}

/** Returns the files of the schema and its functions, from the top folder of the project. */
export function schemaFiles(): string[] {
  return [...filesOf(SCHEMA), ...filesOf(FUNCTIONS)];
}

/** Takes characters of a path that have a meaning in patterns as they are. */
function literally(path: string): string {
  return path.replace(/[?*()[]/g, '[$&]').replace(/[{}]/g, '\\$&');
}

function filesOf(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT }).sort();
}

async function functions(): Promise<string> {
  const texts = await Promise.all(filesOf(FUNCTIONS).map((file) => readFile(projectFile(file), 'utf8')));
  return texts.join('\n');
}
