import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type PostgresBinaries, postgresBinaries, run } from './binaries.ts';
import {
  type EmbeddedServer,
  onPort,
  type RunAs,
  spawnServer,
  unprivileged,
  untilReady,
} from './server-process.ts';

type Settings = Record<string, string | number>;

/**
 * Starts a private PostgreSQL with its data in `folder`, and creates the cluster on the first start.
 * @param options.durable false disables fsync, for tests with disposable data.
 * @param options.url of an earlier start, to listen on the same address again.
 * @param options.settings further settings of the server.
 * @param options.binaries other ones than `postgresBinaries` finds.
 * @throws a sentence for the user of the terminal if the data are of another version.
 */
export async function startPostgres(
  folder: string,
  options: { durable: boolean; url?: string; settings?: Settings; binaries?: PostgresBinaries },
): Promise<EmbeddedServer> {
  const binaries = options.binaries ?? (await postgresBinaries());
  const { bin } = binaries;
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const dataDir = join(folder, 'data');
  const runAs = await unprivileged([join(bin, 'postgres'), dataDir]);
  if (!existsSync(join(dataDir, 'PG_VERSION'))) await initialise(binaries, folder, dataDir, runAs);
  await checkVersion(binaries, dataDir);
  await endLeftOver(dataDir);

  const password = await readFile(join(folder, 'password'), 'utf8');
  const logFile = join(folder, 'postgres.log');
  return onPort(options.url, async (port) => {
    const server = await spawnServer({
      command: join(bin, 'postgres'),
      args: ['-D', dataDir, ...settings(port, options)],
      runAs,
      logFile,
    });
    const urlOf = (database: string) => `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`;
    // SIGINT is PostgreSQL's fast shutdown, which ends the sessions and writes a checkpoint.
    const about = { name: 'PostgreSQL', url: urlOf('souk'), signal: 'SIGINT', logFile } as const;
    return untilReady(server, about, () => createDatabase(urlOf('postgres'), 'souk'));
  });
}

function settings(port: number, options: { durable: boolean; settings?: Settings }): string[] {
  const values: Settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port,
    max_connections: 300,
    // Large enough to keep the indexes of a site's terms in memory during an import.
    shared_buffers: '256MB',
    // Without replicas, rows that are loaded into a table of the same transaction need no write-ahead log.
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_wal_size: '2GB',
    ...(options.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...options.settings,
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Creates the cluster in a temporary folder and renames it, so that an interrupted first start leaves no partial one. */
async function initialise({ bin, version }: PostgresBinaries, folder: string, dataDir: string, runAs: RunAs) {
  const password = randomBytes(24).toString('base64url');
  await writeFile(join(folder, 'password'), password, { mode: 0o600 });
  const workshop = await mkdtemp(join(folder, 'initdb-'));
  const passwordForInitdb = join(workshop, 'password');
  await writeFile(passwordForInitdb, password, { mode: 0o600 });
  await runAs.own(workshop);
  await runAs.own(passwordForInitdb);
  const [command = '', ...args] = runAs.wrap([
    join(bin, 'initdb'),
    '-D',
    join(workshop, 'data'),
    '-U',
    'postgres',
    '--pwfile',
    passwordForInitdb,
    // A plain "C" locale would leave Chinese and Japanese words without trigrams.
    // The server listens on the loopback interface only, where the password needs no protection that each connection pays for.
    ...['--auth=password', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
    // The password has 192 random bits, which repeated hashing does not protect further, and each connection is compared with a hash.
    // PostgreSQL 14 and 15 have no such setting.
    ...(Number.parseInt(version, 10) >= 16 ? ['-c', 'scram_iterations=1'] : []),
  ]);
  try {
    await run(command, args, runAs.spawnOptions);
    await rename(join(workshop, 'data'), dataDir);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

async function checkVersion({ version, isOfNpm }: PostgresBinaries, dataDir: string): Promise<void> {
  const written = (await readFile(join(dataDir, 'PG_VERSION'), 'utf8')).trim();
  if (written === String(Number.parseInt(version, 10))) return;
  const found = isOfNpm
    ? `npm's PostgreSQL ${version}`
    : `Debian's PostgreSQL ${version}, because npm's is not installed`;
  throw new Error(
    `The data in ${dataDir} are of PostgreSQL ${written}, and this machine has ${found}. ` +
      `Install PostgreSQL ${written}, or remove ${dataDir} to start without these data.`,
  );
}

/** Stops the server of an earlier start. Without `setpriv` it survives its killed parent, and still uses the data. */
async function endLeftOver(dataDir: string): Promise<void> {
  const pidFile = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(pidFile.split('\n', 1)[0]);
  if (!pid || !(await isPostgres(pid))) return;
  process.kill(pid, 'SIGINT');
  while (await isPostgres(pid)) await pause(50);
}

async function isPostgres(pid: number): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'comm=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.includes('postgres');
}

async function createDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  // The pending query rejects as well; without a listener the event would end the process when the server stops first.
  client.on('error', () => {});
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (!rowCount) await client.query(`create database ${pg.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
