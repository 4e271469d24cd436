import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { only } from '../../platform/db/rows.ts';
import { isSealed, openSealed, UnreadableFile } from '../../platform/sealed-stream.ts';
import { serverMajor } from './backup.ts';
import { BackupError, findTools, startTool, type Tool } from './tools.ts';

interface Restore {
  databaseUrl: string;
  file: string;
  /** The setting SECRET_KEY. */
  keys: readonly string[];
  /** Whether to delete what the database contains. */
  replace: boolean;
}

/**
 * Restores a backup in one transaction, which also closes admission: a restore that fails changes nothing. Before it begins, the
 * whole file has been checked. @throws BackupError
 */
export async function restore({ databaseUrl, file, keys, replace }: Restore): Promise<void> {
  const tools = await findTools(['pg_restore', 'psql'], await checkTarget(databaseUrl, replace));
  await checkFile(file, keys, tools.pg_restore);
  const psql = startTool(tools.psql, databaseUrl, [
    '--no-psqlrc',
    '--quiet',
    '--set=ON_ERROR_STOP=1',
    '--file=-',
  ]);
  psql.child.stdout?.resume();
  const reader = startTool(tools.pg_restore, null, ['--file=-', '--no-owner', '--no-privileges']);
  try {
    psql.child.stdin.write(BEGIN + (replace ? EMPTY : ''));
    await Promise.all([
      pipeline(await bytesOf(file, keys), reader.child.stdin),
      pipeline(reader.child.stdout as Readable, psql.child.stdin, { end: false }),
    ]);
    await reader.ended;
    psql.child.stdin.end(COMMIT);
  } catch (error) {
    reader.child.kill();
    // Without the commit, the end of the session takes everything back.
    psql.child.stdin.destroy();
    psql.child.kill();
    throw (await failureOf(psql, reader)) ?? error;
  }
  await psql.ended;
}

/** Sessions of other programs. Those of autovacuum have no user. */
const OTHERS = `pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
  and usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend'`;

/** The transaction fails if a process has connected since the check. */
const BEGIN = `begin;
do $$ begin
  if exists (select from ${OTHERS}) then raise exception 'other processes have connected to the database'; end if;
end $$;
`;

const EMPTY = `set local client_min_messages = warning;
drop schema if exists test_reports cascade;
drop schema public cascade;
create schema public;
`;

/** What is restored has set an empty path, and has no statistics, without which an audit takes hours. */
const COMMIT = `
set local search_path to public;
select souk_close_admission('restored') \\g /dev/null
commit;
analyze;
`;

/** Checks the database before anything is written. @returns the version of the server. @throws BackupError */
async function checkTarget(databaseUrl: string, replace: boolean): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows: others } = await client.query<{ name: string; count: string }>(
      `select coalesce(nullif(application_name, ''), 'a program without a name') as name, count(*) as count
       from ${OTHERS} group by 1 order by 1`,
    );
    if (others.length > 0)
      throw new BackupError(
        `Processes are connected to the database (${others.map(({ name, count }) => `${name}: ${count}`).join(', ')}). Stop gateways, workers and other programs first.`,
      );
    const { rows: tables } = await client.query<{ count: string }>(
      `select count(*) as count from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname in ('public', 'test_reports') and c.relkind in ('r', 'p', 'v', 'm', 'S')`,
    );
    const { count } = only(tables);
    if (count !== '0' && !replace)
      throw new BackupError(
        `The database is not empty: it has ${count} tables, views and sequences. Restore into an empty database, or delete what it has with --replace.`,
      );
    return await serverMajor(client);
  } finally {
    await client.end();
  }
}

/** Reads the whole file: every piece of an encrypted one, and everything that pg_restore makes of another. @throws BackupError */
async function checkFile(file: string, keys: readonly string[], reader: string): Promise<void> {
  try {
    await (await open(file)).close();
    if (await isSealed(file)) {
      if (keys.length === 0)
        throw new UnreadableFile('is encrypted; set SECRET_KEY to the key of the installation');
      for await (const _piece of openSealed(file, keys));
      return;
    }
  } catch (error) {
    if (error instanceof UnreadableFile) throw new BackupError(`${file} ${error.message}.`);
    throw new BackupError(`${file} cannot be read: ${(error as Error).message}.`);
  }
  const check = startTool(reader, null, ['--file=/dev/null', file]);
  check.child.stdout?.resume();
  await check.ended.catch((error: Error) => {
    throw new BackupError(`${file} is no backup, or it is damaged: ${error.message}`);
  });
}

async function bytesOf(file: string, keys: readonly string[]): Promise<Readable> {
  return (await isSealed(file)) ? Readable.from(openSealed(file, keys)) : createReadStream(file);
}

/** What the tools say: psql first, because the other one only loses its reader if psql fails. */
async function failureOf(...tools: readonly Tool[]): Promise<unknown> {
  for (const { ended } of tools) {
    const failure: unknown = await ended.then(
      () => null,
      (error: unknown) => error,
    );
    if (failure instanceof BackupError && !/ended with null$/.test(failure.message)) return failure;
  }
  return null;
}
