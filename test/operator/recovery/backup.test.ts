import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureAccount } from '../../../src/accounts/accounts.ts';
import { grantPack } from '../../../src/billing/grants.ts';
import { findTools } from '../../../src/operator/backup/tools.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { openDatabase } from '../../../src/platform/db/pool.ts';
import { fromDebian, type PostgresBinaries, run } from '../../../src/platform/embedded/binaries.ts';
import { startPostgres } from '../../../src/platform/embedded/postgres.ts';
import type { EmbeddedServer } from '../../../src/platform/embedded/server-process.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createTestDatabase } from '../../support/database.ts';
import { soukCommand } from '../../support/souk-command.ts';

const SECRET_KEY = 'the-key-of-an-installation-of-souk';
const NAMES = ['pg_dump', 'pg_restore', 'psql'] as const;

/** Debian's server with its tools: the packages of npm have none. null: this machine has no server with tools. */
const binaries = await withTools();

async function withTools(): Promise<PostgresBinaries | null> {
  const bin = await fromDebian();
  if (!bin) return null;
  const { stdout } = await run(join(bin, 'postgres'), ['--version']);
  const version = /\d\S*/.exec(stdout)?.[0] ?? '';
  const has = await findTools(NAMES, Number.parseInt(version, 10)).then(
    () => true,
    () => false,
  );
  return has ? { bin, version, isOfNpm: false } : null;
}

let folder: string;
let server: EmbeddedServer;
let [source, target] = ['', ''];

beforeAll(async () => {
  if (!binaries) return;
  folder = await mkdtemp(join(tmpdir(), 'souk-backup-'));
  await chmod(folder, 0o755);
  server = await startPostgres(join(folder, 'postgres'), { durable: false, binaries });
  source = server.url;
  target = source.replace(/\/souk$/, '/target');
  await query(source, 'create database target');
  await migrate(source);
  const database = openDatabase(source, createLogger('silent'));
  const now = Date.now();
  const accountId = await ensureAccount(database, 'ann@in.example', 'Ann', now);
  const [validFrom, validUntil] = [new Date(now), new Date(now + 1e9)];
  await grantPack(
    database,
    { accountId, wallet: 'general', units: 7, rateLimitPerMinute: 60, validFrom, validUntil },
    now,
  );
  await database.end();
});
afterAll(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const commandOf = (url: string, settings: Record<string, string> = {}) =>
  soukCommand({ DATABASE_URL: url, SOUK_DATA_DIR: '/nonexistent/souk', ...settings });

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const CONTENT = `select (select sum(remaining_units)::integer from packs) as units, (select count(*)::integer from ledger) as lines,
  (select string_agg(email, ',') from people) as people`;

const isEmpty = async () =>
  (await query(target, "select count(*)::integer as n from pg_tables where schemaname = 'public'"))[0]?.n ===
  0;

const emptied = () =>
  query(
    target,
    'drop schema if exists test_reports cascade; drop schema public cascade; create schema public',
  );

test.skipIf(!binaries).for([
  ['encrypted', { SECRET_KEY }],
  ['plain', {}],
] as const)(
  'a %s backup is restored into an empty database, which admits calls after verify',
  async ([_, settings]) => {
    await emptied();
    const made = await commandOf(source, settings).json(['backup', '--to', folder]);
    expect(made).toMatchObject({
      isEncrypted: 'SECRET_KEY' in settings,
      bytes: (await stat(made.file)).size,
    });
    expect((await stat(made.file)).mode & 0o077).toBe(0);
    expect((await readFile(made.file)).includes('ann@in.example')).toBe(false);
    expect(
      await query(source, "select target from audit_log where action = 'backup' order by id desc limit 1"),
    ).toEqual([{ target: made.file }]);

    const restored = await commandOf(target, settings).json(['restore', '--from', made.file]);
    expect(restored.recordedUntil).toBe(made.begunAt);
    expect(await query(target, CONTENT)).toEqual(await query(source, CONTENT));
    const lines =
      "select action, target from audit_log where action in ('restore', 'admission.opened') order by id";
    expect(await query(target, lines)).toEqual([{ action: 'restore', target: made.file }]);
    const state = 'select closed_at is not null as closed, reason from admission_state';
    expect(await query(target, state)).toEqual([{ closed: true, reason: 'restored' }]);
    // The tables are those of this version, so that there is nothing to do.
    await migrate(target);
    expect(await commandOf(target).json('verify')).toMatchObject({ ok: true, admission: 'opened' });
    expect(await query(target, state)).toEqual([{ closed: false, reason: null }]);
  },
);

test.skipIf(!binaries)(
  'a restore refuses a wrong key, a damaged file and a database in use or with tables, and changes nothing',
  async () => {
    await emptied();
    const file = join(folder, 'whole');
    const plain = join(folder, 'plain');
    await commandOf(source, { SECRET_KEY }).json(['backup', '--to', file]);
    await commandOf(source).json(['backup', '--to', plain]);
    const refusal = async (
      from: string,
      settings: Record<string, string> = { SECRET_KEY },
      more: string[] = [],
    ) => (await commandOf(target, settings).run(['restore', '--from', from, ...more])).stderr;

    const damaged = await readFile(file);
    damaged[damaged.length - 300] = (damaged.at(-300) ?? 0) ^ 1;
    await writeFile(join(folder, 'damaged'), damaged);
    await writeFile(join(folder, 'cut'), (await readFile(file)).subarray(0, 44 + 65_552));
    await writeFile(join(folder, 'cut-plain'), (await readFile(plain)).subarray(0, -5_000));
    await writeFile(join(folder, 'none'), 'not a backup');
    expect(await refusal(file, {})).toMatch(/is encrypted; set SECRET_KEY/);
    expect(await refusal(file, { SECRET_KEY: 'the-key-of-some-other-installation' })).toMatch(
      /a key that SECRET_KEY does not have/,
    );
    for (const name of ['damaged', 'cut'])
      expect(await refusal(join(folder, name))).toMatch(/is damaged or incomplete/);
    for (const name of ['cut-plain', 'none'])
      expect(await refusal(join(folder, name))).toMatch(/is no backup, or it is damaged/);
    expect(await refusal(join(folder, 'missing'))).toMatch(/cannot be read: ENOENT/);
    expect((await commandOf(source).run(['backup', '--to', file])).stderr).toMatch(/exists already/);

    const user = new pg.Client({ connectionString: target, application_name: 'souk' });
    await user.connect();
    expect(await refusal(file)).toMatch(/Processes are connected to the database \(souk: 1\)/);
    await user.end();
    expect(await isEmpty()).toBe(true);

    await query(target, 'create table of_others (id integer); insert into of_others values (1)');
    expect(await refusal(file)).toMatch(/The database is not empty: it has 1 tables/);
    // A failure in the middle takes the deletion back as well.
    await query(
      target,
      `create schema failing; create function failing.stop() returns event_trigger language plpgsql as
         $$ begin raise exception 'stopped in the middle'; end $$;
       create event trigger failing on ddl_command_end when tag in ('CREATE INDEX') execute function failing.stop()`,
    );
    expect(await refusal(file, { SECRET_KEY }, ['--replace'])).toMatch(/stopped in the middle/);
    await query(target, 'drop schema failing cascade');
    expect(await query(target, 'select * from of_others')).toEqual([{ id: 1 }]);

    expect(await refusal(file, { SECRET_KEY }, ['--replace'])).toBe('');
    expect(await query(target, CONTENT)).toEqual(await query(source, CONTENT));
    expect(await query(target, "select to_regclass('of_others') as found")).toEqual([{ found: null }]);
  },
);

test('names the package if the tools are missing or older than the server', async () => {
  await expect(findTools(['pg_dump', 'psql'], 99)).rejects.toThrow(
    /^pg_dump and psql of PostgreSQL 99 or later are not on PATH.*Install the package postgresql-client-99\.$/,
  );
  const { url, drop } = await createTestDatabase();
  const [{ server_version_num: number } = {}] = await query(url, 'show server_version_num');
  const major = Math.floor(Number(number) / 10_000);
  const isFound = await findTools(['pg_dump'], major).then(
    () => true,
    () => false,
  );
  const { code, stderr } = await commandOf(url).run([
    'backup',
    '--to',
    join(tmpdir(), `souk-never-${process.pid}`),
  ]);
  if (!isFound)
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`Install the package postgresql-client-${major}.`),
    ]);
  await rm(join(tmpdir(), `souk-never-${process.pid}`), { force: true });
  await drop();
});
