import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { LIMITS } from '../../../src/config/limits.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { type Database, openDatabase } from '../../../src/platform/db/pool.ts';
import { startPostgres } from '../../../src/platform/embedded/postgres.ts';
import { startRedis } from '../../../src/platform/embedded/redis.ts';
import { freePort } from '../../../src/platform/embedded/server-process.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { type Program, startProgram } from './program.ts';

/** Processes to kill. `forgetful redis` restarts without its data. */
export const VICTIMS = [
  'gateway 1',
  'gateway 2',
  'worker 1',
  'worker 2',
  'redis',
  'forgetful redis',
  'postgres',
] as const;

export type Victim = (typeof VICTIMS)[number];

/** The whole service in separate processes, each of which can be killed and restarted at its address. */
export interface SoakServices {
  database: Database;
  /** Addresses of the gateways. */
  gateways: readonly string[];
  kill(victim: Victim): Promise<void>;
  restart(victim: Victim): Promise<void>;
  /** Processes that ended without being killed. */
  surprises: readonly string[];
  /** Folder of the logs; removed by `close`. */
  folder: string;
  close(): Promise<void>;
}

interface Store {
  url: string;
  pid: number;
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Slow and faulty enough that jobs are running when a process is killed, and some calls are released. */
const PROVIDER = {
  DEMO_LATENCY_MS: '150',
  DEMO_TOKENS_PER_MINUTE: '1000000',
  DEMO_FAIL_RATE: '0.05',
  DEMO_ERROR_BODY_RATE: '0.05',
  DEMO_TRUNCATE_RATE: '0.02',
  DEMO_MALFORMED_RATE: '0.02',
};

export async function openSoakServices(programs: string): Promise<SoakServices> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-soak-'));
  await chmod(folder, 0o755);
  const surprises: string[] = [];
  const undo: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async () => {
    // Stops in reverse order, because later processes depend on earlier ones.
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const startPostgresAt = (url?: string) =>
      startPostgres(join(folder, 'postgres'), { durable: true, ...(url ? { url } : {}) });
    const startRedisAt = (url?: string) =>
      startRedis(join(folder, 'redis'), resolve('.souk/tools'), { durable: true, ...(url ? { url } : {}) });
    const stores: { postgres: Store; redis: Store } = {
      postgres: await startPostgresAt(),
      redis: await startRedisAt(),
    };
    undo.push(
      () => stores.postgres.stop(),
      () => stores.redis.stop(),
    );
    await migrate(stores.postgres.url);
    const database = openDatabase(stores.postgres.url, createLogger('silent'));
    undo.push(() => database.end());

    const start = async (name: string, file: string, env: Record<string, string>) => {
      const logFile = join(folder, `${name.replace(' ', '-')}.log`);
      const onSurprise = (sentence: string) => surprises.push(sentence);
      const program = await startProgram({ name, file: join(programs, file), env, logFile, onSurprise });
      undo.push(program.stop);
      return program;
    };
    const provider = await start('provider', 'demo/main.js', PROVIDER);
    const env = {
      DATABASE_URL: stores.postgres.url,
      REDIS_URL: stores.redis.url,
      KEEPA_BASE_URL: provider.ready,
      KEEPA_API_KEY: 'soak-soak-soak-soak',
      LOG_LEVEL: 'warn',
      // A few accounts send everything.
      ...Object.fromEntries(Object.keys(LIMITS).map((name) => [name, '1000000000'])),
      // The off-peak window is open during the run.
      OFF_PEAK_WINDOW: '00:00-23:59',
      OFF_PEAK_TIMEZONE: 'UTC',
      // Webhooks go to a receiver on this machine.
      WEBHOOK_ALLOW_PRIVATE: 'true',
    };
    const [port1, port2] = [await freePort(), await freePort()];
    // Workers start first, because a gateway without workers refuses calls.
    const [worker1, worker2] = await Promise.all([
      start('worker 1', 'workers/main.js', env),
      start('worker 2', 'workers/main.js', env),
    ]);
    const [gateway1, gateway2] = await Promise.all([
      start('gateway 1', 'src/main.js', { ...env, PORT: String(port1) }),
      start('gateway 2', 'src/main.js', { ...env, PORT: String(port2) }),
    ]);
    const running: Record<string, Program> = {
      'worker 1': worker1,
      'worker 2': worker2,
      'gateway 1': gateway1,
      'gateway 2': gateway2,
    };

    return {
      database,
      gateways: [gateway1.ready, gateway2.ready],
      surprises,
      folder,
      async kill(victim) {
        const store = victim === 'postgres' ? stores.postgres : /redis/.test(victim) ? stores.redis : null;
        if (!store) return running[victim]?.kill();
        process.kill(store.pid, 'SIGKILL');
        await store.ended;
      },
      async restart(victim) {
        if (victim === 'postgres') {
          stores.postgres = await patiently(() => startPostgresAt(stores.postgres.url));
        } else if (victim === 'redis' || victim === 'forgetful redis') {
          const dataDir = join(folder, 'redis', 'data');
          if (victim === 'forgetful redis') await rm(dataDir, { recursive: true, force: true });
          stores.redis = await patiently(() => startRedisAt(stores.redis.url));
        } else {
          await running[victim]?.restart();
        }
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** After a kill, PostgreSQL refuses to start until the last session of the old server has ended. */
async function patiently<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (attempt === 20) throw error;
      await new Promise((done) => setTimeout(done, 250));
    }
  }
}
