import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import { createLogger } from '../../src/platform/log.ts';
import { type Redis as Connection, closeRedis, connectRedis } from '../../src/platform/redis.ts';

const COMMANDS = 30;

test('a connection leaves a server that has become a replica, and sends its commands again', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'souk-demoted-'));
  await chmod(folder, 0o755);
  const server = await startRedis(folder, resolve('.souk/tools'), { durable: false });
  onTestFinished(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const redis = single(await connectRedis(server.url, 'pulling', createLogger('silent')));
  onTestFinished(() => closeRedis(redis));
  const { stream } = redis;
  const closed = new Promise<void>((done) => stream.once('close', () => done()));
  await redis.replicaof('127.0.0.1', 1);
  const answers = Promise.all(Array.from({ length: COMMANDS }, (_, i) => redis.set(`${i}`, i)));
  await closed;
  const other = new Redis(server.url);
  await other.replicaof('NO', 'ONE').finally(() => other.disconnect());
  expect(await answers).toEqual(Array.from({ length: COMMANDS }, () => 'OK'));
});

function single(connection: Connection): Redis {
  if (!(connection instanceof Redis)) throw new Error('The connection is not to one server.');
  return connection;
}
