import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { SettlingCluster } from '../../src/platform/redis.ts';
import { startNode } from '../support/redis-cluster.ts';

const SLOTS = 16_384;

interface Options {
  lazyConnect: true;
  clusterRetryStrategy(): number;
  redisOptions: { password: string };
}

/**
 * Connects to a cluster that lacks a slot, and gives it the slot after the first attempt has failed.
 * @returns whether `connect` has settled when the connection is ready.
 */
async function settlesAtLaterAttempt(
  open: (nodes: { host: string; port: number }[], options: Options) => Cluster,
): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-settling-'));
  await chmod(folder, 0o755);
  const password = 'a-password';
  const { server, redis } = await startNode(join(folder, 'node'), password);
  await redis.config('SET', 'cluster-announce-ip', '127.0.0.1');
  await redis.cluster('ADDSLOTSRANGE', 1, SLOTS - 1);
  const cluster = open([{ host: '127.0.0.1', port: Number(new URL(server.url).port) }], {
    lazyConnect: true,
    clusterRetryStrategy: () => 50,
    redisOptions: { password },
  });
  onTestFinished(async () => {
    cluster.disconnect();
    redis.disconnect();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  cluster.on('error', () => {});
  const event = (name: string) => new Promise<void>((resolve) => void cluster.once(name, () => resolve()));
  const [failed, ready] = [event('reconnecting'), event('ready')];
  let hasSettled = false;
  void cluster.connect().finally(() => {
    hasSettled = true;
  });
  await failed;
  await redis.cluster('ADDSLOTS', 0);
  await ready;
  await turn();
  return hasSettled;
}

test('a connection to a cluster and its duplicates are connected when a later attempt succeeds', async () => {
  expect(await settlesAtLaterAttempt((nodes, options) => new SettlingCluster(nodes, options))).toBe(true);
  expect(
    await settlesAtLaterAttempt((nodes, options) => new SettlingCluster(nodes, options).duplicate()),
  ).toBe(true);
});

test('ioredis leaves connect open when a later attempt succeeds; if this fails, remove SettlingCluster', async () => {
  expect(await settlesAtLaterAttempt((nodes, options) => new Cluster(nodes, options))).toBe(false);
});
