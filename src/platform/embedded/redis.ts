import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { redisBinary } from './binaries.ts';
import { freePort, spawnServer, unprivileged, waitUntilReady } from './server-process.ts';

export interface EmbeddedRedis {
  /** redis:// address on 127.0.0.1 and a random port, password included. */
  url: string;
  readonly pid: number;
  /** Settles when the server has ended for any reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a private Redis with its data in `folder`.
 * @param options.durable true keeps an append-only file, so that queued jobs and cached answers survive a restart.
 * @param options.url of an earlier start, to listen on the same address again.
 * @param options.settings further settings of the server.
 */
export async function startRedis(
  folder: string,
  toolsDir: string,
  options: { durable: boolean; url?: string; settings?: Record<string, string | number> },
): Promise<EmbeddedRedis> {
  const { command, env } = await redisBinary(toolsDir);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const runAs = await unprivileged([command, join(folder, 'data')]);
  await mkdir(join(folder, 'data'), { recursive: true, mode: 0o700 });
  await runAs.own(join(folder, 'data'));

  const before = options.url ? new URL(options.url) : null;
  const port = before ? Number(before.port) : await freePort();
  const password = before?.password ?? randomBytes(24).toString('base64url');
  const settings: Record<string, string | number> = {
    bind: '127.0.0.1',
    port,
    requirepass: password,
    dir: join(folder, 'data'),
    save: '""',
    appendonly: options.durable ? 'yes' : 'no',
    appendfsync: 'everysec',
    // Most stored bytes are compressed already.
    rdbcompression: 'no',
    'maxmemory-policy': 'noeviction',
    ...options.settings,
  };
  const server = await spawnServer({
    command,
    args: ['-'],
    stdin: Object.entries(settings)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(''),
    runAs,
    logFile: join(folder, 'redis.log'),
    env,
  });
  const url = `redis://:${password}@127.0.0.1:${port}`;
  try {
    await waitUntilReady(server, () => ping(url));
  } catch (error) {
    await server.stop('SIGTERM');
    throw new Error(
      `The embedded Redis did not start (${(error as Error).message}); see ${folder}/redis.log`,
    );
  }
  const { pid, ended } = server;
  return { url, pid, ended, stop: () => server.stop('SIGTERM') };
}

async function ping(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.ping();
  } finally {
    client.disconnect();
  }
}
