import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureAccount } from '../src/accounts/accounts.ts';
import { createKey } from '../src/accounts/authentication.ts';
import { grantSubscription, upsertPlan } from '../src/billing/grants.ts';
import { migrate } from '../src/platform/db/migrate.ts';
import { type Database, openDatabase, STATEMENT_LIMITS } from '../src/platform/db/pool.ts';
import { DAY_MS } from '../src/platform/durations.ts';
import { startPostgres } from '../src/platform/embedded/postgres.ts';
import { startRedis } from '../src/platform/embedded/redis.ts';
import { createLogger } from '../src/platform/log.ts';
import type { ProcessMessage } from '../src/platform/process.ts';
import { programArguments } from '../src/platform/project.ts';
import { unlimited } from '../test/support/unlimited.ts';

/** The services of a benchmark, in separate processes. */
export interface Services {
  databaseUrl: string;
  redisUrl: string;
  database: Database;
  /** The processes, by name. */
  processes: ReadonlyMap<string, number>;
  /** Starts a process that ends with the benchmark. @returns its ready line. */
  start(file: string, options?: StartOptions): Promise<{ ready: string; child: ChildProcess }>;
  /** Starts a gateway and a worker, both with the probe, for an upstream. @param options.name a suffix of their names. */
  startSouk(
    upstreamUrl: string,
    options?: { env?: NodeJS.ProcessEnv; name?: string },
  ): Promise<{ url: string; gateway: ChildProcess; worker: ChildProcess }>;
  stop(child: ChildProcess): Promise<void>;
  /** Creates accounts with unlimited subscriptions. @returns their keys. */
  keys(count: number): Promise<string[]>;
  close(): Promise<void>;
}

const PROBE = 'bench/probe.ts';

interface StartOptions {
  env?: NodeJS.ProcessEnv;
  /** Default: the file. */
  name?: string;
  /** A file that the process loads first. */
  preload?: string;
}

/**
 * Starts a durable PostgreSQL and Redis, as `npm start` does, in a temporary folder.
 * @param options.postgresFolder where PostgreSQL keeps its data after the end. Default: it is deleted.
 */
export async function openServices(options: { postgresFolder?: string | undefined } = {}): Promise<Services> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-bench-'));
  await chmod(folder, 0o755);
  const postgres = await startPostgres(options.postgresFolder ?? join(folder, 'postgres'), { durable: true });
  const redis = await startRedis(join(folder, 'redis'), resolve('.souk/tools'), { durable: true });
  await migrate(postgres.url);
  const database = openDatabase(postgres.url, createLogger('warn'), { limits: STATEMENT_LIMITS.unlimited });
  const { processes, start, stop, stopAll } = createProcesses({ postgres, redis });
  let accounts = 0;

  return {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    database,
    processes,
    start,
    async startSouk(upstreamUrl, { env: more = {}, name = '' } = {}) {
      const env = {
        KEEPA_API_KEY: 'b'.repeat(64),
        KEEPA_BASE_URL: upstreamUrl,
        PORT: '0',
        LOG_LEVEL: 'warn',
        // The worker would generate reports for test keys during the first measurement.
        TEST_MODE: 'off',
        // A few accounts send everything.
        ...unlimited(),
        ...more,
      };
      const worker = await start('workers/main.ts', { env, name: `worker${name}`, preload: PROBE });
      const gateway = await start('src/main.ts', { env, name: `gateway${name}`, preload: PROBE });
      return { url: gateway.ready, gateway: gateway.child, worker: worker.child };
    },
    stop,
    async keys(count) {
      const limits = { minuteLimit: null, dailyLimit: null, monthlyLimit: null };
      const planId = await upsertPlan(database, { code: 'bench', name: 'Bench', ...limits });
      const keys: string[] = [];
      for (let i = 0; i < count; i += 1) {
        accounts += 1;
        keys.push(await keyOfNewAccount(database, accounts, planId));
      }
      return keys;
    },
    async close() {
      await stopAll();
      await database.end();
      await redis.stop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Store {
  url: string;
  pid: number;
}

/** The processes of a benchmark that use two stores. */
function createProcesses({ postgres, redis }: { postgres: Store; redis: Store }) {
  const children = new Set<ChildProcess>();
  const processes = new Map([
    ['PostgreSQL', postgres.pid],
    ['Redis', redis.pid],
  ]);

  const stop = async (child: ChildProcess) => {
    children.delete(child);
    for (const [name, pid] of processes) if (pid === child.pid) processes.delete(name);
    if (child.exitCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await ended;
  };

  const start: Services['start'] = (file, { env = {}, name = file, preload } = {}) =>
    new Promise((resolve, reject) => {
      const preloads = preload ? ['--import', programArguments(preload).at(-1) ?? ''] : [];
      // BENCH_PROFILE=DIR writes a CPU profile of each process to that folder.
      const { BENCH_PROFILE: profileDir } = process.env;
      const profile = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : [];
      const stores = { DATABASE_URL: postgres.url, REDIS_URL: redis.url };
      const child = spawn(process.execPath, [...profile, ...preloads, ...programArguments(file)], {
        env: { ...process.env, NODE_ENV: 'production', ...stores, ...env },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      children.add(child);
      if (child.pid !== undefined) processes.set(name, child.pid);
      child.once('message', (message: ProcessMessage) => {
        if ('ready' in message) resolve({ ready: message.ready, child });
        else reject(new Error(message.failed));
      });
    });

  return {
    processes,
    start,
    stop,
    /** Stops them in reverse order, because later ones depend on earlier ones. */
    async stopAll(): Promise<void> {
      for (const child of [...children].reverse()) await stop(child);
    },
  };
}

/** Creates an account with a subscription. @returns its key. */
async function keyOfNewAccount(database: Database, number: number, planId: number): Promise<string> {
  const now = Date.now();
  const accountId = await ensureAccount(database, `bench-${number}@bench.example`, 'Bench', now);
  const [startsAt, endsAt] = [new Date(now - 1000), new Date(now + DAY_MS)];
  const subscription = { accountId, wallet: 'general', planId, quantity: 1, startsAt, endsAt } as const;
  await grantSubscription(database, subscription);
  return createKey(database, accountId, now);
}

let lastAsin = 0;

/** Returns an ASIN that was not used before. */
export function newAsin(): string {
  lastAsin += 1;
  return `B${String(lastAsin).padStart(9, '0')}`;
}
