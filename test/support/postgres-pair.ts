import { appendFile, copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { run } from '../../src/platform/embedded/binaries.ts';
import { startPostgres } from '../../src/platform/embedded/postgres.ts';
import { type EmbeddedServer, freePort } from '../../src/platform/embedded/server-process.ts';
import { copyMigratedPostgres } from './postgres-template.ts';

/** A primary and a standby, to which it replicates synchronously: a commit has arrived there before it is reported. */
export interface PostgresPair {
  /** The address of the present primary. */
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  readonly primaryPid: number;
  /** Ends the primary with SIGKILL. */
  killPrimary(): Promise<void>;
  /** Makes the primary read-only, and waits until the standby has everything. Connections stay open. */
  demote(): Promise<void>;
  /** Makes the standby the primary. */
  promote(): Promise<void>;
  /** Starts the former primary again, as a synchronous standby with a copy of the new one. */
  rebuild(): Promise<void>;
  close(): Promise<void>;
}

interface Server {
  folder: string;
  url: string;
  running: EmbeddedServer | null;
}

/** Commits reach the other server, whose disk need not have them. */
const SETTINGS = {
  wal_level: 'replica',
  max_wal_senders: 4,
  wal_keep_size: '1GB',
  hot_standby: 'on',
  fsync: 'off',
  synchronous_commit: 'on',
};

/** Copies the data of a running server to a new folder for `startPostgres`, with the label that tells it where its log begins. */
export async function baseBackup(from: { folder: string; url: string }, to: string): Promise<void> {
  await mkdir(to, { mode: 0o755 });
  await copyFile(join(from.folder, 'password'), join(to, 'password'));
  const client = new pg.Client({ connectionString: from.url });
  await client.connect();
  await client.query(`select pg_backup_start('copy', true)`);
  const data = join(to, 'data');
  // Files may go while they are copied, which the log makes up for.
  await run('cp', ['-a', join(from.folder, 'data'), data]).catch(() => {});
  const { rows } = await client.query<{ label: string }>(
    'select labelfile as label from pg_backup_stop(false)',
  );
  await client.end();
  await rm(join(data, 'postmaster.pid'), { force: true });
  for (const name of await readdir(join(data, 'pg_wal')))
    if (/^[0-9A-F]{24}$/.test(name)) await rm(join(data, 'pg_wal', name));
  await writeSignal(data, 'backup_label', rows[0]?.label ?? '');
}

/** Writes a file of a data folder that tells PostgreSQL how to start. */
export async function writeSignal(data: string, name: string, content = ''): Promise<void> {
  await writeFile(join(data, name), content);
  // The server runs as another user than a test of root.
  await run('chown', [`--reference=${data}`, join(data, name)]);
}

/** @param parent where the folders of the two servers are created; every user may enter it. */
export async function startPostgresPair(parent: string): Promise<PostgresPair> {
  const folders = ['postgres', 'standby'].map((name) => join(parent, name)) as [string, string];
  await copyMigratedPostgres(folders[0]);
  const first = await startPostgres(folders[0], { durable: true, settings: SETTINGS });
  const other = new URL(first.url);
  other.port = String(await freePort());
  let primary: Server = { folder: folders[0], url: first.url, running: first };
  let standby: Server = { folder: folders[1], url: other.href, running: null };
  const { username, password } = new URL(first.url);
  await rebuild();

  /** Runs a statement on a server that may be busy with the end of another. */
  async function ask<Row extends pg.QueryResultRow>(server: Server, text: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: server.url });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Copies the primary while it runs, and starts the copy as its standby. */
  async function rebuild(): Promise<void> {
    await standby.running?.stop();
    await rm(standby.folder, { recursive: true, force: true });
    await baseBackup(primary, standby.folder);
    const data = join(standby.folder, 'data');
    await writeSignal(data, 'standby.signal');
    const from = new URL(primary.url);
    const connection = `host=127.0.0.1 port=${from.port} user=${username} password=${password} application_name=standby`;
    // A copied primary waits for no standby until it has one.
    await appendFile(join(data, 'postgresql.auto.conf'), `synchronous_standby_names = ''\n`);
    standby.running = await startPostgres(standby.folder, {
      durable: true,
      url: standby.url,
      settings: { ...SETTINGS, primary_conninfo: connection },
    });
    await until(primary, `select 1 from pg_stat_replication where state = 'streaming'`);
    await ask(primary, `alter system set synchronous_standby_names = 'ANY 1 (standby)'`);
    await ask(primary, 'select pg_reload_conf()');
    await until(primary, `select 1 from pg_stat_replication where sync_state = 'quorum'`);
  }

  /** Waits until a query has rows. */
  async function until(server: Server, text: string): Promise<void> {
    const giveUpAt = Date.now() + 60_000;
    while ((await ask(server, text)).length === 0) {
      if (Date.now() > giveUpAt) throw new Error(`waited a minute for: ${text}`);
      await pause(50);
    }
  }

  return {
    get primaryUrl() {
      return primary.url;
    },
    get standbyUrl() {
      return standby.url;
    },
    get primaryPid() {
      return primary.running?.pid ?? 0;
    },
    async killPrimary() {
      process.kill(primary.running?.pid ?? 0, 'SIGKILL');
      await primary.running?.ended;
      primary.running = null;
    },
    async demote() {
      await ask(primary, 'alter system set default_transaction_read_only = on');
      await ask(primary, 'select pg_reload_conf()');
      await until(
        primary,
        `select where current_setting('default_transaction_read_only') = 'on'
        and not exists (select from pg_stat_activity where backend_xid is not null)`,
      );
      // Its commit waits until the standby has it, and so every commit before it, also those that waited for nothing.
      const flush = `select pg_logical_emit_message(true, 'demote', '')`;
      await ask(primary, flush);
      const [at] = await ask<{ lsn: string }>(primary, 'select pg_current_wal_lsn() as lsn');
      await until(standby, `select where pg_last_wal_replay_lsn() >= '${at?.lsn}'`);
    },
    async promote() {
      await ask(standby, 'select pg_promote(true, 60)');
      [primary, standby] = [standby, primary];
    },
    rebuild,
    async close() {
      await standby.running?.stop();
      await primary.running?.stop();
    },
  };
}
