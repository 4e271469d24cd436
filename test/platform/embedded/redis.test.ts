import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { hasCommand, isExecutable, redisBinary } from '../../../src/platform/embedded/binaries.ts';
import { startRedis } from '../../../src/platform/embedded/redis.ts';
import { isAlive } from '../../support/processes.ts';

/** The folder into which Debian's package is unpacked. */
const OWN_COPY = resolve('.souk/tools/redis/usr/bin');

let folder: string;
const started: number[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'souk-redis-'));
  await chmod(folder, 0o755);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  expect(started.splice(0).filter(isAlive)).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

const inFolder = (durable = false) => startRedis(join(folder, 'redis'), resolve('.souk/tools'), { durable });

async function withClient<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  try {
    await client.connect();
    const [, pid = ''] = /process_id:(\d+)/.exec(await client.info('server')) ?? [];
    started.push(Number(pid));
    return await use(client);
  } finally {
    client.disconnect();
  }
}

test('starts in a fresh folder, keeps its data over a restart, and leaves no process', async () => {
  const first = await inFolder(true);
  await withClient(first.url, (client) => client.set('kept', '42'));
  await first.stop();
  await first.ended;
  expect(started.filter(isAlive)).toEqual([]);
  const second = await inFolder(true);
  expect(await withClient(second.url, (client) => client.get('kept'))).toBe('42');
  await second.stop();
});

test('keeps no data if it need not be durable', async () => {
  const first = await inFolder();
  await withClient(first.url, (client) => client.set('kept', '42'));
  await first.stop();
  const second = await inFolder();
  expect(await withClient(second.url, (client) => client.get('kept'))).toBeNull();
  await second.stop();
});

test('never evicts keys, appends durable data to a file, and listens on 127.0.0.1 only', async () => {
  const redis = await inFolder(true);
  const settings = await withClient(redis.url, async (client) =>
    Object.fromEntries(
      await Promise.all(
        ['maxmemory-policy', 'appendonly', 'rdbcompression', 'bind'].map(
          async (name) => client.config('GET', name) as Promise<[string, string]>,
        ),
      ),
    ),
  );
  expect(settings).toEqual({
    'maxmemory-policy': 'noeviction',
    appendonly: 'yes',
    rdbcompression: 'no',
    bind: '127.0.0.1',
  });
  await redis.stop();
});

test('requires its password', async () => {
  const redis = await inFolder();
  const stranger = new URL(redis.url);
  stranger.password = 'guessed';
  await expect(withClient(stranger.href, (client) => client.ping())).rejects.toThrow();
  await withClient(redis.url, (client) => client.ping());
  await redis.stop();
});

const canFetch = (await isExecutable(join(OWN_COPY, 'redis-server'))) || (await hasCommand('apt-get'));

test.skipIf(!canFetch)('runs without an installed Redis', { timeout: 120_000 }, async () => {
  vi.stubEnv('SOUK_IGNORE_SYSTEM', '1');
  expect((await redisBinary(resolve('.souk/tools'))).command).toBe(join(OWN_COPY, 'redis-server'));
  const redis = await inFolder();
  expect(await withClient(redis.url, (client) => client.ping())).toBe('PONG');
  await redis.stop();
});

test('resolves `ended` when another process kills the server', async () => {
  const redis = await inFolder();
  await withClient(redis.url, (client) => client.ping());
  for (const pid of started) process.kill(pid, 'SIGKILL');
  await redis.ended;
  await redis.stop();
});

test('uses the server that REDIS_SERVER_BIN names', async () => {
  vi.stubEnv('REDIS_SERVER_BIN', await fakeServer('Redis server v=7.4.1 sha=0 bits=64'));
  expect((await redisBinary(join(folder, 'none'))).command).toBe(join(folder, 'redis-server'));
});

test('refuses a server that is too old, and names its version', async () => {
  vi.stubEnv('REDIS_SERVER_BIN', await fakeServer('Redis server v=6.0.16 sha=0 bits=64'));
  await expect(redisBinary(join(folder, 'none'))).rejects.toThrow(
    /redis-server is version 6\.0; Souk needs Redis 6\.2 or later\.$/,
  );
});

test('names a REDIS_SERVER_BIN that does not exist', async () => {
  vi.stubEnv('REDIS_SERVER_BIN', join(folder, 'missing'));
  await expect(redisBinary(join(folder, 'none'))).rejects.toThrow(/^REDIS_SERVER_BIN \S+\/missing .+\.$/);
});

test('names the package to install if no server is found', async () => {
  vi.stubEnv('SOUK_IGNORE_SYSTEM', '1');
  vi.stubEnv('PATH', folder);
  await expect(redisBinary(join(folder, 'none'))).rejects.toThrow(
    /^No Redis server found: .+ Set REDIS_URL to a Redis server \(version 6\.2 or later\), or install redis-server\.$/,
  );
});

async function fakeServer(version: string): Promise<string> {
  const path = join(folder, 'redis-server');
  await writeFile(path, `#!/bin/sh\necho "${version}"\n`, { mode: 0o755 });
  return path;
}
