import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis, takesWrites } from '../../src/platform/redis.ts';
import { startCacheRedis } from '../support/cache-redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';

/** Servers of a single test. */
interface Servers {
  url: string;
  signal(name: NodeJS.Signals): void;
}

const log = createLogger('silent');

const start = {
  async server(): Promise<Servers> {
    const redis = await startCacheRedis();
    onTestFinished(() => redis.close());
    const { url, kill, freeze } = redis;
    return { url, signal: (name) => (name === 'SIGKILL' ? kill() : freeze()) };
  },
  async cluster(): Promise<Servers> {
    const cluster = await startRedisCluster();
    onTestFinished(() => cluster.close());
    return {
      url: cluster.url,
      signal(name) {
        for (const { server } of cluster.masters) process.kill(server.pid, name);
      },
    };
  },
};

test.for([
  ['server', 'SIGKILL'],
  ['server', 'SIGSTOP'],
  ['cluster', 'SIGKILL'],
  ['cluster', 'SIGSTOP'],
] as const)(
  'a %s takes no writes after %s, and a connection with a command that waits for it is closed',
  async ([form, signal]) => {
    const servers = await start[form]();
    const redis = await connectRedis(servers.url, 'pulling', log);
    expect(await takesWrites(redis, 30_000)).toBe(true);
    servers.signal(signal);
    void redis.get('a key').catch(() => {});
    expect(await takesWrites(redis, 1_000)).toBe(false);
    await closeRedis(redis);
    // A socket without an answer is closed a moment later.
    await expect.poll(() => redis.status).not.toBe('ready');
  },
);

test('a server that has become a replica takes no writes', async () => {
  const servers = await start.server();
  const redis = await connectRedis(servers.url, 'pulling', log);
  onTestFinished(() => closeRedis(redis));
  await redis.call('REPLICAOF', '127.0.0.1', '1');
  expect(await takesWrites(redis, 30_000)).toBe(false);
});
