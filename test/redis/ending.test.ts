import { Cluster } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis, type Redis } from '../../src/platform/redis.ts';
import { endWhenAway } from '../../src/platform/redis-watch.ts';
import { startCacheRedis } from '../support/cache-redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { gate } from '../support/scripted-upstream.ts';

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

/** A connection whose commands wait for Redis, and a duplicate on which BullMQ would wait for a job. */
async function connections(
  url: string,
): Promise<{ redis: Redis; blocking: Redis; waiting: Promise<unknown> }> {
  const redis = await connectRedis(url, 'pulling', log);
  const blocking = redis instanceof Cluster ? redis.duplicate() : redis.duplicate();
  blocking.on('error', () => {});
  onTestFinished(() => closeRedis(redis));
  await blocking.connect();
  const waiting = blocking.bzpopmin('no jobs', 0);
  waiting.catch(() => {});
  return { redis, blocking, waiting };
}

const OUTAGES = [
  ['server', 'SIGKILL'],
  ['server', 'SIGSTOP'],
  ['cluster', 'SIGKILL'],
  ['cluster', 'SIGSTOP'],
] as const;

test.for(OUTAGES)(
  'a closed connection to a %s after %s fails its commands and those of its duplicates, and connects no more',
  async ([form, signal]) => {
    const servers = await start[form]();
    const { redis, blocking, waiting } = await connections(servers.url);
    servers.signal(signal);
    const pending = redis.get('a key');
    pending.catch(() => {});
    if (signal === 'SIGKILL') await expect.poll(() => redis.status).toBe('reconnecting');
    await closeRedis(redis);
    await expect(pending).rejects.toThrow();
    await expect(waiting).rejects.toThrow();
    await expect(redis.get('a key')).rejects.toThrow();
    await expect(blocking.connect()).rejects.toThrow('Connection is closed.');
    await expect.poll(() => [redis.status, blocking.status]).toEqual(['end', 'end']);
  },
);

test.for(OUTAGES)('a watch ends the connections to a %s after %s', async ([form, signal]) => {
  const servers = await start[form]();
  const { redis, waiting } = await connections(servers.url);
  const { reached: isAway, open: onAway } = gate();
  const statuses: string[] = [];
  endWhenAway([redis], 1_000, () => {
    statuses.push(redis.status);
    onAway();
  });
  servers.signal(signal);
  await isAway;
  expect(statuses).not.toContain('end');
  await expect(waiting).rejects.toThrow();
  await expect(redis.get('a key')).rejects.toThrow();
});

test('a connection to a cluster is closed while it looks up the addresses of its nodes', async () => {
  const servers = await start.cluster();
  const redis = await connectRedis(servers.url.replaceAll('127.0.0.1', 'localhost'), 'pulling', log);
  const isConnecting = new Promise((done) => redis.once('connecting', done));
  servers.signal('SIGKILL');
  const pending = redis.get('a key');
  pending.catch(() => {});
  await isConnecting;
  await closeRedis(redis);
  await expect(pending).rejects.toThrow('Connection is closed.');
  expect(redis.status).toBe('end');
});

test('a watch ends the connections to a server that has become a replica', async () => {
  const servers = await start.server();
  const { redis, waiting } = await connections(servers.url);
  const { reached: isAway, open: onAway } = gate();
  endWhenAway([redis], 1_000, onAway);
  await redis.call('REPLICAOF', '127.0.0.1', '1');
  await isAway;
  await expect(waiting).rejects.toThrow();
});

test('a watch that has ended leaves the connections of a server that goes away later', async () => {
  const servers = await start.server();
  const { redis } = await connections(servers.url);
  const stopWatching = endWhenAway([redis], 1_000, () => {
    throw new Error('The watch has ended.');
  });
  await redis.ping();
  stopWatching();
  servers.signal('SIGKILL');
  await expect.poll(() => redis.status).toBe('reconnecting');
});
