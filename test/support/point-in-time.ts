import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { vi } from 'vitest';
import { type Database, openDatabase, STATEMENT_LIMITS } from '../../src/platform/db/pool.ts';
import { run } from '../../src/platform/embedded/binaries.ts';
import { startPostgres } from '../../src/platform/embedded/postgres.ts';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import type { EmbeddedServer } from '../../src/platform/embedded/server-process.ts';
import { createLogger } from '../../src/platform/log.ts';
import { baseBackup, writeSignal } from './postgres-pair.ts';
import { copyMigratedPostgres } from './postgres-template.ts';
import { type Program, startProgram } from './soak/program.ts';
import { unlimited } from './unlimited.ts';

/** A service in processes of their own, on a PostgreSQL that archives its log. */
export interface ArchivedService {
  readonly databaseUrl: string;
  /** Ends when PostgreSQL crashes. */
  database: Database;
  /** Starts a worker and a gateway. @returns the address of the gateway. */
  start(): Promise<string>;
  baseBackup(): Promise<void>;
  /** Waits until the log until now is in the archive. */
  archive(): Promise<void>;
  /** SIGKILL to PostgreSQL, Redis, gateway and worker; the data of PostgreSQL and Redis are lost. */
  crash(): Promise<void>;
  /** Recovers PostgreSQL at its address from the base backup and the archive to a time, and starts an empty Redis. */
  recover(until: Date): Promise<void>;
  /** Sizes of the base backup and the archive, in MiB. */
  sizes(): Promise<{ base: number; archive: number }>;
  close(): Promise<void>;
}

/** @param programs folder of the compiled programs. */
export async function openArchivedService(programs: string): Promise<ArchivedService> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-recovery-'));
  await chmod(folder, 0o755);
  const at = (name: string) => join(folder, name);
  await mkdir(at('archive'));
  // PostgreSQL runs as another user than a test of root.
  await chmod(at('archive'), 0o777);
  const settings = {
    wal_level: 'replica',
    archive_mode: 'on',
    archive_command: `cp %p ${at('archive')}/%f.part && mv ${at('archive')}/%f.part ${at('archive')}/%f`,
    // The machine does not crash.
    fsync: 'off',
  };
  await copyMigratedPostgres(at('postgres'));
  let postgres = await startPostgres(at('postgres'), { durable: true, settings });
  const openRedis = (url?: string) =>
    startRedis(at('redis'), resolve('.souk/tools'), { durable: true, ...(url && { url }) });
  let redis: EmbeddedServer = await openRedis();
  const running: Program[] = [];
  const launch = async (name: string, file: string, env: Record<string, string>): Promise<string> => {
    const onSurprise = () => {};
    const program = await startProgram({
      name,
      file: join(programs, file),
      env,
      logFile: at(`${name}.log`),
      onSurprise,
    });
    running.push(program);
    return program.ready;
  };
  const provider = await launch('provider', 'demo/main.js', {
    DEMO_LATENCY_MS: '150',
    DEMO_TOKENS_PER_MINUTE: '1000000',
  });
  const database = openDatabase(postgres.url, createLogger('silent'), { limits: STATEMENT_LIMITS.unlimited });

  return {
    databaseUrl: postgres.url,
    database,
    async start() {
      const env = {
        DATABASE_URL: postgres.url,
        REDIS_URL: redis.url,
        KEEPA_BASE_URL: provider,
        KEEPA_API_KEY: 'drill-drill-drill',
        LOG_LEVEL: 'warn',
        TEST_MODE: 'off',
        ...unlimited({ STORE_ANSWER_LIMIT_MS: 3_000 }),
      };
      // A gateway without a worker refuses calls.
      await launch('worker', 'workers/main.js', env);
      return launch('gateway', 'src/main.js', { ...env, PORT: '0' });
    },
    baseBackup: () => baseBackup({ folder: at('postgres'), url: postgres.url }, at('base')),
    async archive() {
      const { rows } = await database.query<{ name: string }>(
        'select pg_walfile_name(pg_switch_wal()) as name',
      );
      await vi.waitUntil(
        async () => {
          const { rows: found } = await database.query(
            'select from pg_stat_archiver where last_archived_wal >= $1',
            [rows[0]?.name],
          );
          return found.length > 0;
        },
        { timeout: 60_000, interval: 50 },
      );
    },
    async crash() {
      for (const { pid, ended } of [postgres, redis]) {
        process.kill(pid, 'SIGKILL');
        await ended;
      }
      for (const program of running.splice(1)) await program.kill();
      await database.end();
      for (const name of ['postgres', 'redis']) await rm(at(name), { recursive: true, force: true });
    },
    async recover(until) {
      await run('cp', ['-a', at('base'), at('postgres')]);
      await writeSignal(join(at('postgres'), 'data'), 'recovery.signal');
      postgres = await startPostgres(at('postgres'), {
        durable: true,
        url: postgres.url,
        settings: {
          ...settings,
          // It accepts no connection before it is recovered.
          hot_standby: 'off',
          archive_mode: 'off',
          restore_command: `cp ${at('archive')}/%f %p`,
          // PostgreSQL knows no names of time zones yet.
          recovery_target_time: until.toISOString().replace('Z', '+00'),
          recovery_target_action: 'promote',
        },
      }).catch(async (error: Error) => {
        const said = await readFile(join(at('postgres'), 'postgres.log'), 'utf8');
        throw new Error(`${error.message}: ${said.slice(-2_000)}`);
      });
      redis = await openRedis(redis.url);
    },
    async sizes() {
      const mebibytes = async (path: string) =>
        Number((await run('du', ['-sm', path])).stdout.split('\t')[0]);
      return { base: await mebibytes(at('base')), archive: await mebibytes(at('archive')) };
    },
    async close() {
      for (const program of running.reverse()) await program.stop();
      await database.end().catch(() => {});
      await redis.stop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
