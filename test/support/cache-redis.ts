import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import type { EmbeddedServer } from '../../src/platform/embedded/server-process.ts';

/** A Redis for cached data only, which evicts, and which a test may stop. */
export interface CacheRedis {
  /** The value of CACHE_REDIS_URL. */
  url: string;
  /** A connection to it. */
  redis: Redis;
  /** Returns a number that INFO shows. */
  figure(name: string): Promise<number>;
  kill(): void;
  /** Starts it again on the same address, without its data. */
  restart(): Promise<void>;
  /** Stops its process (SIGSTOP): connections stay open, and nothing is answered. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

/** The server itself takes half of it. */
const MEMORY_BYTES = 4 * 2 ** 20;

export async function startCacheRedis(): Promise<CacheRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-cache-redis-'));
  await chmod(folder, 0o755);
  const start = (url?: string): Promise<EmbeddedServer> =>
    startRedis(folder, resolve('.souk/tools'), {
      durable: false,
      ...(url && { url }),
      settings: { maxmemory: MEMORY_BYTES, 'maxmemory-policy': 'allkeys-lru' },
    });
  let server = await start();
  const { url } = server;
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  // A test stops the server.
  redis.on('error', () => {});
  const signal = (name: NodeJS.Signals) => process.kill(server.pid, name);
  return {
    url,
    redis,
    async figure(name) {
      return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.info())?.[1]);
    },
    kill: () => void signal('SIGKILL'),
    async restart() {
      await server.ended;
      server = await start(url);
    },
    freeze: () => void signal('SIGSTOP'),
    thaw: () => void signal('SIGCONT'),
    async close() {
      redis.disconnect();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
