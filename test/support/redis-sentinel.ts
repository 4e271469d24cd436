import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type EmbeddedRedis, startRedis } from '../../src/platform/embedded/redis.ts';
import { redisBinary } from '../../src/platform/embedded/redis-binaries.ts';
import { unprivileged } from '../../src/platform/embedded/run-as.ts';
import { freePort, type ServerProcess, spawnServer } from '../../src/platform/embedded/server-process.ts';

const SENTINELS = 3;
const TOOLS = resolve('.souk/tools');

/** A Redis with a replica, on 127.0.0.1, watched by three sentinels. */
export interface TestSentinel {
  /** The value of REDIS_URL. */
  url: string;
  /** The server that takes writes at the start. */
  master: EmbeddedRedis;
  close(): Promise<void>;
}

export async function startSentinel(): Promise<TestSentinel> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-redis-sentinel-'));
  await chmod(folder, 0o755);
  const password = randomBytes(12).toString('hex');
  const ports = [await freePort(), await freePort()] as const;
  const start = (i: 0 | 1, settings: Record<string, string>) =>
    startRedis(join(folder, `redis-${i}`), TOOLS, {
      durable: false,
      url: `redis://:${password}@127.0.0.1:${ports[i]}`,
      settings: { masterauth: password, ...settings },
    });
  const master = await start(0, {});
  const replica = await start(1, { replicaof: `127.0.0.1 ${ports[0]}` });
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, (_, i) => startOne(join(folder, `sentinel-${i}`), ports[0], password)),
  );
  return {
    url: `redis+sentinel://:${password}@${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`,
    master,
    async close() {
      await Promise.all(sentinels.map(({ server }) => server.stop('SIGTERM')));
      await Promise.all([master, replica].map((server) => server.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A sentinel writes what it learns into its file of settings. */
async function startOne(
  folder: string,
  masterPort: number,
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
      ...['bind 127.0.0.1', `port ${port}`, `dir ${folder}`],
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
    logFile: join(folder, 'sentinel.log'),
    ...(env && { env }),
  });
  return { port, server };
}
