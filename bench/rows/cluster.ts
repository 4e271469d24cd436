import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { max, median, sum } from 'd3-array';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import { startRedisCluster } from '../../test/support/redis-cluster.ts';
import { load } from '../load.ts';
import { alternate, type Side, throughputRow } from '../rounds.ts';
import type { Row } from '../row.ts';
import { newAsin, type Services } from '../services.ts';

/** Gateways, workers and masters. */
const COUNT = 3;
const CONNECTIONS = 16;
const ACCOUNTS = 99;

/**
 * Measures uncached calls through three gateways and three workers: on a cluster of three masters, and on one Redis. Neither keeps an append-only file. BENCH_SECONDS and BENCH_ROUNDS change the lengths.
 */
export async function clusterRows(services: Services): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-bench-redis-'));
  const cluster = await startRedisCluster();
  const single = await startRedis(folder, resolve('.souk/tools'), { durable: false });
  const children: ChildProcess[] = [];
  try {
    const upstream = await services.start('bench/instant-upstream.ts');
    const keys = await services.keys(ACCOUNTS);
    const many = { REDIS_URL: cluster.url };
    const ours = await side(services, upstream.ready, { name: 'on the cluster', env: many, keys, children });
    const one = { REDIS_URL: single.url };
    const baseline = await side(services, upstream.ready, { name: 'on one Redis', env: one, keys, children });
    const lengths = {
      rounds: Number(process.env.BENCH_ROUNDS ?? 5),
      seconds: Number(process.env.BENCH_SECONDS ?? 5),
    };
    const { sides, busy } = await alternate(services, { ours, baseline }, lengths);
    const what = `uncached calls of ${COUNT} gateways and ${COUNT} workers on a Redis Cluster of ${COUNT} masters / on one Redis`;
    return [throughputRow({ what, aim: 'at least 0.9' }, { ...sides, busy })];
  } finally {
    // A process that loses its Redis logs each of its connections.
    for (const child of children.toReversed()) await services.stop(child);
    await cluster.close();
    await single.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface SideSettings {
  name: string;
  env: NodeJS.ProcessEnv;
  keys: readonly string[];
  /** Receives the processes. */
  children: ChildProcess[];
}

/** Starts the processes of a side, whose load is spread over its gateways. */
async function side(
  services: Services,
  upstreamUrl: string,
  { name, env, keys, children }: SideSettings,
): Promise<Side> {
  const urls: string[] = [];
  for (let n = 1; n <= COUNT; n += 1) {
    const { url, worker, gateway } = await services.startSouk(upstreamUrl, { env, name: ` ${n} ${name}` });
    urls.push(url);
    children.push(worker, gateway);
  }
  let turn = 0;
  const next = () => {
    turn += 1;
    const headers = { 'x-api-key': keys[turn % keys.length] ?? '' };
    return { path: `/api/market/product?domain=1&asins=${newAsin()}`, headers };
  };
  const loads = urls.map((url) => load(url, next, { connections: CONNECTIONS }));
  return {
    processes: [...services.processes.keys()].filter((process) => process.endsWith(name)),
    async send(seconds) {
      const samples = await Promise.all(loads.map((one) => one.send(seconds)));
      return {
        calls: sum(samples, ({ calls }) => calls),
        perSecond: sum(samples, ({ perSecond }) => perSecond),
        bytesPerSecond: sum(samples, ({ bytesPerSecond }) => bytesPerSecond),
        p50Ms: median(samples, ({ p50Ms }) => p50Ms) ?? 0,
        p99Ms: max(samples, ({ p99Ms }) => p99Ms) ?? 0,
        failures: sum(samples, ({ failures }) => failures),
      };
    },
  };
}
