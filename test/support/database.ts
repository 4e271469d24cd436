import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, inject } from 'vitest';
import { type Database, openDatabase, STATEMENT_LIMITS } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';

/** A database of its own for a test file, copied from the migrated template. */
export async function createTestDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const template = new URL(inject('templateDatabaseUrl'));
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying files takes a third of the time of copying through the log.
  await run(`create database ${name} template ${template.pathname.slice(1)} strategy file_copy`);
  const url = new URL(template);
  url.pathname = `/${name}`;
  // No "force": a connection that a test has left open makes the drop fail, and the test with it.
  return { url: url.href, drop: () => run(`drop database ${name}`) };
}

let administrator: Promise<pg.Client> | null = null;

/** Runs a statement on a connection that the files of this process share, and that ends with the server. */
async function run(statement: string): Promise<void> {
  administrator ??= connect();
  const client = await administrator;
  await client.query(statement);
}

async function connect(): Promise<pg.Client> {
  const url = new URL(inject('templateDatabaseUrl'));
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  client.on('error', () => {
    administrator = null;
  });
  await client.connect();
  return client;
}

/** Opens such a database with a pool of connections, which closes after the tests of the calling file. */
export async function openTestDatabase(): Promise<Database> {
  const { url, drop } = await createTestDatabase();
  const database = openDatabase(url, createLogger('silent'), { limits: STATEMENT_LIMITS.unlimited });
  afterAll(async () => {
    await database.end();
    await drop();
  });
  return database;
}
