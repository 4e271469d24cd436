import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { redisBinary } from './binaries.ts';
import { type EmbeddedServer, onPort, spawnServer, unprivileged, untilReady } from './server-process.ts';

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
): Promise<EmbeddedServer> {
  const { command, env } = await redisBinary(toolsDir);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const runAs = await unprivileged([command, join(folder, 'data')]);
  await mkdir(join(folder, 'data'), { recursive: true, mode: 0o700 });
  await runAs.own(join(folder, 'data'));

  const password = options.url ? new URL(options.url).password : randomBytes(24).toString('base64url');
  const logFile = join(folder, 'redis.log');
  return onPort(options.url, async (port) => {
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
      logFile,
      env,
    });
    const url = `redis://:${password}@127.0.0.1:${port}`;
    return untilReady(server, { name: 'Redis', url, signal: 'SIGTERM', logFile }, () => ping(url));
  });
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
