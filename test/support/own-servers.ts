import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startPostgres } from '../../src/platform/embedded/postgres.ts';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import { copyMigratedPostgres } from './postgres-template.ts';
import { processesWith } from './processes.ts';

/** A PostgreSQL and a Redis of a single test, whose processes it may stop. */
export interface OwnServers {
  databaseUrl: string;
  redisUrl: string;
  /** Stops all processes of a server (SIGSTOP): connections stay open, and nothing is answered. */
  freeze(server: 'postgres' | 'redis'): Promise<void>;
  /** Continues all processes (SIGCONT). */
  thaw(): void;
  killRedis(): Promise<void>;
  /** Starts it again on the same address, without its data. */
  restartRedis(): Promise<void>;
  close(): Promise<void>;
}

/** A PostgreSQL of a single test that writes to the disk. */
export interface CrashingPostgres {
  url: string;
  /** Ends all its processes with SIGKILL, so that it loses what it has not written, and starts it again. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

export async function openCrashingPostgres(
  settings: Record<string, string | number> = {},
): Promise<CrashingPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-postgres-'));
  await chmod(folder, 0o755);
  await copyMigratedPostgres(join(folder, 'postgres'));
  const start = (url?: string) =>
    startPostgres(join(folder, 'postgres'), { durable: true, settings, ...(url && { url }) });
  let postgres = await start();
  return {
    url: postgres.url,
    async crash() {
      const { pid, ended, url } = postgres;
      const children = (await processesWith('')).filter(({ parent }) => parent === pid);
      for (const one of [pid, ...children.map((child) => child.pid)]) kill(one);
      await ended;
      postgres = await start(url);
    },
    async close() {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Children end by themselves when their parent has. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

export async function openOwnServers(): Promise<OwnServers> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-servers-'));
  await chmod(folder, 0o755);
  await copyMigratedPostgres(join(folder, 'postgres'));
  const postgres = await startPostgres(join(folder, 'postgres'), { durable: false });
  const startRedisAt = (url?: string) =>
    startRedis(join(folder, 'redis'), resolve('.souk/tools'), { durable: false, ...(url && { url }) });
  let redis = await startRedisAt();
  const frozen: number[] = [];

  const stop = (pid: number) => {
    process.kill(pid, 'SIGSTOP');
    frozen.push(pid);
  };
  const thaw = () => {
    // A process may have ended meanwhile.
    for (const pid of frozen.splice(0).reverse())
      try {
        process.kill(pid, 'SIGCONT');
      } catch {}
  };
  return {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    async freeze(server) {
      const { pid } = server === 'postgres' ? postgres : redis;
      // The parent first, so that it starts no more of them.
      stop(pid);
      for (const child of await processesWith('')) if (child.parent === pid) stop(child.pid);
    },
    thaw,
    async killRedis() {
      kill(redis.pid);
      await redis.ended;
    },
    async restartRedis() {
      redis = await startRedisAt(redis.url);
    },
    async close() {
      thaw();
      await redis.stop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
