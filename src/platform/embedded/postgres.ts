import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { run } from './commands.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { type RunAs, unprivileged } from './run-as.ts';
import { freePort, spawnServer, waitUntilReady } from './server-process.ts';

export interface EmbeddedPostgres {
  /** postgresql:// address of the database `souk`, on 127.0.0.1 and a random port. */
  url: string;
  readonly pid: number;
  /** Settles when the server has ended, whoever ended it. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a private PostgreSQL with its data in `folder`, creating it the first time.
 * @param options.durable false switches off fsync: for tests, whose data nobody mourns.
 * @param options.url of an earlier start, to come back where others still look for it.
 */
export async function startPostgres(
  folder: string,
  options: { durable: boolean; url?: string },
): Promise<EmbeddedPostgres> {
  const bin = await postgresBinaries();
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const dataDir = join(folder, 'data');
  const runAs = await unprivileged([join(bin, 'postgres'), dataDir]);
  if (!existsSync(join(dataDir, 'PG_VERSION'))) await initialise(bin, folder, dataDir, runAs);
  await endLeftOver(dataDir);

  const port = options.url ? Number(new URL(options.url).port) : await freePort();
  const password = await readFile(join(folder, 'password'), 'utf8');
  const server = await spawnServer({
    command: join(bin, 'postgres'),
    args: ['-D', dataDir, ...settings(port, options.durable)],
    runAs,
    logFile: join(folder, 'postgres.log'),
  });
  const urlOf = (database: string) => `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`;
  try {
    await waitUntilReady(server, () => createDatabase(urlOf('postgres'), 'souk'));
  } catch (error) {
    await server.stop('SIGINT');
    throw new Error(
      `The embedded PostgreSQL did not start (${(error as Error).message}); see ${folder}/postgres.log`,
    );
  }
  // SIGINT is PostgreSQL's fast shutdown: it ends the sessions and writes a checkpoint.
  const { pid, ended } = server;
  return { url: urlOf('souk'), pid, ended, stop: () => server.stop('SIGINT') };
}

function settings(port: number, durable: boolean): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port,
    max_connections: 300,
    // The indexes of a site's terms stay in memory while an import adds to them, term by term.
    shared_buffers: '256MB',
    // There is no replica: what is loaded into a table of the same transaction need not go through the log.
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_wal_size: '2GB',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Builds the cluster beside its final place and moves it there, so that an interrupted first start leaves nothing half made. */
async function initialise(bin: string, folder: string, dataDir: string, runAs: RunAs): Promise<void> {
  const password = randomBytes(24).toString('base64url');
  await writeFile(join(folder, 'password'), password, { mode: 0o600 });
  const workshop = await mkdtemp(join(folder, 'initdb-'));
  const passwordForInitdb = join(workshop, 'password');
  await writeFile(passwordForInitdb, password, { mode: 0o600 });
  await runAs.own(workshop);
  await runAs.own(passwordForInitdb);
  const [command = '', ...args] = runAs.wrap([
    join(bin, 'initdb'),
    ...['-D', join(workshop, 'data'), '-U', 'postgres', '--pwfile', passwordForInitdb],
    // A plain "C" locale would leave Chinese and Japanese words without trigrams.
    ...['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
  ]);
  try {
    await run(command, args, runAs.spawnOptions);
    await rename(join(workshop, 'data'), dataDir);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

/** A server whose parent was killed where `setpriv` is missing goes on; it holds our data, so it must end first. */
async function endLeftOver(dataDir: string): Promise<void> {
  const pidFile = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(pidFile.split('\n', 1)[0]);
  if (!pid || !(await isPostgres(pid))) return;
  process.kill(pid, 'SIGINT');
  while (await isPostgres(pid)) await new Promise((resolve) => setTimeout(resolve, 50));
}

async function isPostgres(pid: number): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'comm=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.includes('postgres');
}

async function createDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  // The query under way rejects as well; unheard, the event would end the process when the server stops first.
  client.on('error', () => {});
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (!rowCount) await client.query(`create database ${pg.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
