import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { redisBinary } from '../../src/platform/embedded/binaries.ts';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import {
  type EmbeddedServer,
  freePort,
  type ServerProcess,
  spawnServer,
  unprivileged,
} from '../../src/platform/embedded/server-process.ts';
import { type Through, untilFound, untilSynchronized } from './redis-cluster.ts';

const SENTINELS = 3;
const TOOLS = resolve('.souk/tools');
const LOG = 'sentinel.log';

/** A Redis with a replica, on 127.0.0.1, watched by three sentinels. */
export interface TestSentinel {
  /** The value of REDIS_URL. */
  url: string;
  /** The server that takes writes at the start. */
  master: EmbeddedServer;
  /** The master and the replica of the start. */
  servers: EmbeddedServer[];
  /** Starts one of them again. */
  restart(nth: number): Promise<void>;
  /** What the sentinels have logged, once they are closed. */
  logs(): string;
  close(): Promise<void>;
}

/**
 * The sentinels know each other and the replica, and the replica has the data, when this resolves. A sentinel learns of a replica
 * from the master, which it asks every ten seconds: if the master dies before, it has no successor.
 */
export async function startSentinel(through: Through = async (url) => url): Promise<TestSentinel> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-redis-sentinel-'));
  await chmod(folder, 0o755);
  const password = randomBytes(12).toString('hex');
  const urls: string[] = [];
  for (let i = 0; i < 2; i += 1) urls.push(`redis://:${password}@127.0.0.1:${await freePort()}`);
  const ports: string[] = [];
  for (const url of urls) ports.push(new URL(await through(url)).port);
  const start = (i: number, settings: Record<string, string> = {}) =>
    startRedis(join(folder, `redis-${i}`), TOOLS, {
      durable: false,
      ...(urls[i] ? { url: urls[i] } : {}),
      // The replica is sent the data immediately.
      settings: {
        masterauth: password,
        'repl-diskless-sync-delay': 0,
        'replica-announce-port': ports[i] ?? '',
        ...settings,
      },
    });
  const master = await start(0);
  const replica = await start(1, { replicaof: `127.0.0.1 ${ports[0]}` });
  const servers = [master, replica];
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, (_, i) =>
      startOne(join(folder, `sentinel-${i}`), ports[0] ?? '', password),
    ),
  );
  const logs: string[] = [];
  await Promise.all([hasData(replica.url), ...sentinels.map(({ port }) => knowsOthers(port))]);
  return {
    url: `redis+sentinel://:${password}@${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`,
    master,
    servers,
    async restart(nth) {
      // The sentinels tell it which one is the master now.
      servers[nth] = await start(nth);
    },
    logs: () => logs.join('\n'),
    async close() {
      await Promise.all(sentinels.map(({ server }) => server.stop('SIGTERM')));
      await Promise.all(servers.map((server) => server.stop()));
      for (const i of sentinels.keys()) logs.push(await readFile(join(folder, `sentinel-${i}`, LOG), 'utf8'));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function hasData(url: string): Promise<void> {
  const replica = new Redis(url);
  await untilSynchronized(replica).finally(() => replica.disconnect());
}

/** Waits until a sentinel knows the replica, and has heard of the others through the master. */
async function knowsOthers(port: number): Promise<void> {
  const sentinel = new Redis(port, '127.0.0.1');
  try {
    await untilFound(() => sentinel.info('sentinel'), `slaves=1,sentinels=${SENTINELS}`);
  } finally {
    sentinel.disconnect();
  }
}

/** A sentinel writes what it learns into its file of settings. */
async function startOne(
  folder: string,
  masterPort: string,
  password: string,
): Promise<{ port: number; server: ServerProcess }> {
  const port = await freePort();
  const { command, env } = await redisBinary(TOOLS);
  await mkdir(folder, { mode: 0o755 });
  const runAs = await unprivileged([command, folder]);
  const file = join(folder, 'sentinel.conf');
  await writeFile(
    file,
    [
      'bind 127.0.0.1',
      `port ${port}`,
      `dir ${folder}`,
      `sentinel monitor main 127.0.0.1 ${masterPort} 2`,
      `sentinel auth-pass main ${password}`,
      'sentinel down-after-milliseconds main 1000',
      'sentinel failover-timeout main 5000',
    ].join('\n'),
  );
  await runAs.own(folder);
  await runAs.own(file);
  const server = await spawnServer({
    command,
    args: [file, '--sentinel'],
    runAs,
    logFile: join(folder, LOG),
    ...(env && { env }),
  });
  return { port, server };
}
