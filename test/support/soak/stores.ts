import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { startPostgres } from '../../../src/platform/embedded/postgres.ts';
import { startRedis } from '../../../src/platform/embedded/redis.ts';
import { type PostgresPair, startPostgresPair } from '../postgres-pair.ts';
import { copyMigratedPostgres } from '../postgres-template.ts';
import { openProxy } from '../proxy.ts';
import { startRedisCluster } from '../redis-cluster.ts';
import { startSentinel } from '../redis-sentinel.ts';
import { redisServers, type Server, type Topology } from './plan.ts';

interface Store {
  url: string;
  pid: number;
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** PostgreSQL and Redis, each of one or several servers. */
export interface SoakStores {
  databaseUrl: string;
  /** null: clients find the nodes at `nodesUrl`, each behind a network of its own. */
  redisUrl: string | null;
  nodesUrl: string | null;
  /** Returns the process of a server; null if it is none of the stores. */
  pidOf(server: Server): number | null;
  pids(): number[];
  kill(server: Server): Promise<void>;
  /** @param forgetting deletes the data of Redis first. */
  restart(server: Server, forgetting: boolean): Promise<void>;
  changeRoles(): Promise<void>;
}

interface OpenStores {
  folder: string;
  topology: Topology;
  /** Opens a network. @returns the address through it. */
  open(name: Server, url: string): Promise<string>;
  /** What stops the stores, in the order in which they have started. */
  undo: (() => Promise<void>)[];
}

export async function openSoakStores({ folder, topology, open, undo }: OpenStores): Promise<SoakStores> {
  const pair = topology.standby ? await startPostgresPair(folder) : null;
  if (pair) undo.push(() => pair.close());
  else await copyMigratedPostgres(join(folder, 'postgres'));
  const moving = pair ? await openProxy(pair.primaryUrl) : null;
  if (moving) undo.push(() => moving.close());
  const promote = async () => {
    await pair?.promote();
    if (pair) moving?.moveTo(pair.primaryUrl);
    await pair?.rebuild();
  };
  const startPostgresAt = (url?: string) =>
    startPostgres(join(folder, 'postgres'), { durable: true, ...(url ? { url } : {}) });
  const startRedisAt = (url?: string) =>
    startRedis(join(folder, 'redis'), resolve('.souk/tools'), { durable: true, ...(url ? { url } : {}) });
  const stores: Record<Server, Store> = {
    postgres: pair && moving ? storeOfPair(pair, moving.url) : await startPostgresAt(),
  };
  undo.push(() => stores.postgres?.stop() ?? Promise.resolve());
  const nodes = await startNodes(topology, open);
  if (nodes) undo.push(() => nodes.close());
  else {
    stores.redis = await startRedisAt();
    undo.push(() => stores.redis?.stop() ?? Promise.resolve());
  }
  const all = () => ({ ...stores, ...nodes?.stores });
  const urlOf = (server: Server) => all()[server]?.url ?? '';

  return {
    databaseUrl: urlOf('postgres'),
    redisUrl: nodes ? null : urlOf('redis'),
    nodesUrl: nodes?.url ?? null,
    pidOf: (server) => all()[server]?.pid ?? null,
    pids: () => Object.values(all()).map(({ pid }) => pid),
    async kill(server) {
      if (pair && server === 'postgres') return pair.killPrimary();
      const store = all()[server];
      if (!store) throw new Error(`There is no store ${server}.`);
      process.kill(store.pid, 'SIGKILL');
      await store.ended;
    },
    async restart(server, forgetting) {
      if (server === 'postgres' && pair) await promote();
      else if (server === 'postgres')
        stores.postgres = await patiently(() => startPostgresAt(urlOf('postgres')));
      else if (nodes) await patiently(() => nodes.restart(server));
      else {
        if (forgetting) await rm(join(folder, 'redis', 'data'), { recursive: true, force: true });
        stores.redis = await patiently(() => startRedisAt(urlOf('redis')));
      }
    },
    async changeRoles() {
      if (!pair) throw new Error('PostgreSQL has no standby.');
      await pair.demote();
      await promote();
    },
  };
}

/** The nodes of a Redis that has several, each behind a network of its own; null: there is one server. */
async function startNodes({ redis }: Topology, open: (name: Server, url: string) => Promise<string>) {
  if (redis === undefined) return null;
  const names = redisServers(redis);
  let next = 0;
  const through = (url: string) => {
    next += 1;
    return open(`all to ${names[next - 1]}`, url);
  };
  const started =
    redis === 'cluster' ? await startRedisCluster({ replicas: true, through }) : await startSentinel(through);
  const at = (i: number) => started.servers[i] as (typeof started.servers)[number];
  return {
    url: started.url,
    get stores(): Record<Server, Store> {
      return Object.fromEntries(names.map((name, i) => [name, at(i)]));
    },
    restart: (server: Server) => started.restart(names.indexOf(server)),
    close: () => started.close(),
  };
}

function storeOfPair(pair: PostgresPair, url: string): Store {
  return {
    url,
    get pid() {
      return pair.primaryPid;
    },
    ended: Promise.resolve(),
    stop: async () => {},
  };
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
