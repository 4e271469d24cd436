import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import { type EmbeddedServer, onPort } from '../../src/platform/embedded/server-process.ts';

const SLOTS = 16_384;
const MASTERS = 3;
const SLOTS_EACH = Math.ceil(SLOTS / MASTERS);

export interface ClusterNode {
  server: EmbeddedServer;
  /** Starts the server again. */
  start(): Promise<EmbeddedServer>;
  /** Where clients find it. */
  address: string;
  /** A connection to this node only. */
  redis: Redis;
  id: string;
  /** The port on which the nodes talk to each other. */
  busPort: number;
}

/** A Redis Cluster on 127.0.0.1. */
export interface TestRedisCluster {
  /** The value of REDIS_URL. */
  url: string;
  /** Each has a third of the slots. */
  masters: ClusterNode[];
  /** One for each master; empty without `replicas`. */
  replicas: ClusterNode[];
  /** The servers of all nodes: those of the masters, then those of the replicas. */
  servers: EmbeddedServer[];
  /** Starts a server that has ended, without its keys. */
  restart(nth: number): Promise<void>;
  /** Moves all keys with this hash tag from their master to the next one, as an operator adds a node. */
  moveSlot(hashTag: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens a proxy to a node. @returns the address through it, at which clients find the node. */
export type Through = (url: string) => Promise<string>;

const DIRECTLY: Through = async (url) => url;

/** @param options.replicas true gives each master a replica, which takes over two seconds after its master has died. */
export async function startRedisCluster({
  replicas = false,
  through = DIRECTLY,
} = {}): Promise<TestRedisCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-redis-cluster-'));
  await chmod(folder, 0o755);
  const password = randomBytes(12).toString('hex');
  const count = replicas ? 2 * MASTERS : MASTERS;
  const nodes = await Promise.all(
    Array.from({ length: count }, (_, i) => startNode(join(folder, `${i}`), password, through)),
  );
  const [first] = nodes;
  if (!first) throw new Error('A cluster has at least one node.');
  const [masters, others] = [nodes.slice(0, MASTERS), nodes.slice(MASTERS)];
  await Promise.all(
    masters.map(({ redis }, i) =>
      redis.cluster('ADDSLOTSRANGE', i * SLOTS_EACH, Math.min((i + 1) * SLOTS_EACH, SLOTS) - 1),
    ),
  );
  for (const { server, busPort } of nodes.slice(1))
    await first.redis.call('CLUSTER', 'MEET', '127.0.0.1', new URL(server.url).port, busPort);
  await untilAll(nodes, (info) => info.includes(`cluster_known_nodes:${count}`));
  for (const [i, { redis }] of others.entries()) await redis.cluster('REPLICATE', masters[i]?.id ?? '');
  await untilAll(nodes, (info) => info.includes('cluster_state:ok'));
  // A replica that becomes the master before would have none of the data.
  await Promise.all(others.map(({ redis }) => untilSynchronized(redis)));
  const servers = nodes.map(({ server }) => server);
  return {
    url: `redis+cluster://:${password}@${masters.map(({ address }) => new URL(address).host).join(',')}`,
    masters,
    replicas: others,
    servers,
    async restart(nth) {
      const node = nodes[nth];
      if (!node) throw new Error(`There is no node ${nth}.`);
      node.server = await node.start();
      servers[nth] = node.server;
    },
    moveSlot: (hashTag) => moveSlot(masters, hashTag, password),
    async close() {
      for (const { redis } of nodes) redis.disconnect();
      await Promise.all(nodes.map(({ server }) => server.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a node that knows no other one and has no slots. */
export async function startNode(folder: string, password: string, through = DIRECTLY): Promise<ClusterNode> {
  return onPort(undefined, (port) =>
    onPort(undefined, (busPort) => launchNode({ folder, password, through, port, busPort })),
  );
}

async function launchNode({
  folder,
  password,
  through,
  port,
  busPort,
}: {
  folder: string;
  password: string;
  through: Through;
  port: number;
  busPort: number;
}): Promise<ClusterNode> {
  const url = `redis://:${password}@127.0.0.1:${port}`;
  const address = await through(url);
  const options = {
    durable: false,
    url,
    settings: {
      'cluster-enabled': 'yes',
      'cluster-port': busPort,
      'cluster-announce-port': new URL(address).port,
      'cluster-node-timeout': 2_000,
      // A replica with older data than this may not become master; the test has little data.
      'cluster-replica-validity-factor': 0,
      'repl-diskless-sync-delay': 0,
      masterauth: password,
    },
  };
  const start = () => startRedis(folder, resolve('.souk/tools'), options);
  const server = await start();
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  // A test stops nodes.
  redis.on('error', () => {});
  return { server, start, address, redis, id: String(await redis.cluster('MYID')), busPort };
}

/** Waits until a replica has the data of its master. */
export function untilSynchronized(replica: Redis): Promise<void> {
  return untilFound(() => replica.info('replication'), 'master_link_status:up');
}

/** Waits until a node says something. A soak uses this outside of tests. */
export async function untilFound(read: () => Promise<string>, text: string): Promise<void> {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    const said = await read();
    if (said.includes(text)) return;
    if (Date.now() > giveUpAt) throw new Error(`A node did not say ${text} within a minute: ${said}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Waits until the information of each node about its cluster passes a test. */
async function untilAll(nodes: readonly ClusterNode[], passes: (info: string) => boolean): Promise<void> {
  const giveUpAt = Date.now() + 60_000;
  for (const { redis } of nodes) {
    while (!passes(await redis.cluster('INFO'))) {
      if (Date.now() > giveUpAt) throw new Error('The nodes did not form a cluster within a minute.');
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

async function moveSlot(masters: readonly ClusterNode[], hashTag: string, password: string): Promise<void> {
  const slot = await masters[0]?.redis.cluster('KEYSLOT', hashTag);
  if (slot === undefined) throw new Error('A cluster has at least one master.');
  const owner = masters.findIndex((_, i) => slot < (i + 1) * SLOTS_EACH);
  const [from, to] = [masters[owner], masters[(owner + 1) % masters.length]];
  if (!from || !to) throw new Error(`No master has slot ${slot}.`);
  await to.redis.cluster('SETSLOT', slot, 'IMPORTING', from.id);
  await from.redis.cluster('SETSLOT', slot, 'MIGRATING', to.id);
  for (;;) {
    const keys = await from.redis.cluster('GETKEYSINSLOT', slot, 100);
    if (keys.length === 0) break;
    const { port } = new URL(to.server.url);
    await from.redis.call('MIGRATE', '127.0.0.1', port, '', 0, 5_000, 'AUTH', password, 'KEYS', ...keys);
  }
  // Once for each: a node that hears it again ends the subscriptions that clients have renewed on it.
  for (const node of new Set([to, from, ...masters]))
    await node.redis.cluster('SETSLOT', slot, 'NODE', to.id);
}
