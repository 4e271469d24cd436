import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureAccount } from '../src/accounts/accounts.ts';
import { createKey } from '../src/accounts/keys.ts';
import { grantSubscription, upsertPlan } from '../src/billing/grants.ts';
import { migrate } from '../src/platform/db/migrate.ts';
import { type Database, openDatabase } from '../src/platform/db/pool.ts';
import { startPostgres } from '../src/platform/embedded/postgres.ts';
import { startRedis } from '../src/platform/embedded/redis.ts';
import { createLogger } from '../src/platform/log.ts';
import type { ProcessMessage } from '../src/platform/process.ts';

/** Everything a bench row measures against, in processes of their own. */
export interface Services {
  databaseUrl: string;
  redisUrl: string;
  database: Database;
  /** Starts a process; its ready line comes back. It ends with the bench. */
  start(
    file: string,
    env?: NodeJS.ProcessEnv,
    preload?: string,
  ): Promise<{ ready: string; child: ChildProcess }>;
  /** Starts Souk: a gateway and a worker, both with the probe, in front of an upstream. */
  startSouk(upstreamUrl: string): Promise<{ url: string; gateway: ChildProcess; worker: ChildProcess }>;
  stop(child: ChildProcess): Promise<void>;
  /** Keys of new accounts whose subscription is not limited. */
  keys(count: number): Promise<string[]>;
  close(): Promise<void>;
}

/** A durable PostgreSQL and Redis as `npm start` has them, in a folder that is thrown away. */
export async function openServices(): Promise<Services> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-bench-'));
  await chmod(folder, 0o755);
  const postgres = await startPostgres(join(folder, 'postgres'), { durable: true });
  const redis = await startRedis(join(folder, 'redis'), resolve('.souk/tools'), { durable: true });
  await migrate(postgres.url);
  const database = openDatabase(postgres.url, createLogger('warn'));
  const children = new Set<ChildProcess>();
  let accounts = 0;

  const stop = async (child: ChildProcess) => {
    children.delete(child);
    if (child.exitCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await ended;
  };

  const start: Services['start'] = (file, env = {}, preload) =>
    new Promise((resolve, reject) => {
      const preloads = preload ? ['--import', preload] : [];
      // BENCH_PROFILE=DIR leaves a CPU profile of each process there.
      const { BENCH_PROFILE: profileDir } = process.env;
      const profile = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : [];
      const child = spawn(process.execPath, [...profile, '--import', 'tsx', ...preloads, file], {
        env: {
          ...process.env,
          NODE_ENV: 'production',
          DATABASE_URL: postgres.url,
          REDIS_URL: redis.url,
          ...env,
        },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      children.add(child);
      child.once('message', (message: ProcessMessage) => {
        if ('ready' in message) resolve({ ready: message.ready, child });
        else reject(new Error(message.failed));
      });
    });

  return {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    database,
    start,
    async startSouk(upstreamUrl) {
      const env = {
        KEEPA_API_KEY: 'b'.repeat(64),
        KEEPA_BASE_URL: upstreamUrl,
        PORT: '0',
        LOG_LEVEL: 'warn',
      };
      const worker = await start('workers/main.ts', env, './bench/probe.ts');
      const gateway = await start('src/main.ts', env, './bench/probe.ts');
      return { url: gateway.ready, gateway: gateway.child, worker: worker.child };
    },
    stop,
    async keys(count) {
      const now = Date.now();
      const planId = await upsertPlan(database, {
        code: 'bench',
        name: 'Bench',
        minuteLimit: null,
        dailyLimit: null,
        monthlyLimit: null,
      });
      const keys: string[] = [];
      for (let i = 0; i < count; i += 1) {
        accounts += 1;
        const accountId = await ensureAccount(database, `bench-${accounts}@bench.example`, 'Bench', now);
        const [startsAt, endsAt] = [new Date(now - 1000), new Date(now + 86_400_000)];
        await grantSubscription(database, {
          accountId,
          wallet: 'general',
          planId,
          quantity: 1,
          startsAt,
          endsAt,
        });
        keys.push(await createKey(database, accountId, now));
      }
      return keys;
    },
    async close() {
      // Last started, first stopped: nothing loses what it stands on.
      for (const child of [...children].reverse()) await stop(child);
      await database.end();
      await redis.stop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
