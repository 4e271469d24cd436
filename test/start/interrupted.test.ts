import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { killProcessesWith, processesWith } from '../support/processes.ts';
import { createDataDir, start } from '../support/start.ts';

let dataDir: Awaited<ReturnType<typeof createDataDir>>;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  dataDir = await createDataDir();
  database = await createTestDatabase();
});
afterAll(async () => {
  await killProcessesWith(dataDir.path);
  await database.drop();
  await dataDir.remove();
});

/** The log of each service appears when the service is started. Later ones start sooner on stores that exist. */
test.each([
  ['postgres/postgres.log', 'embedded stores'],
  ['redis/redis.log', 'embedded stores'],
  ['demo.log', 'external stores'],
  ['worker.log', 'external stores'],
  ['gateway.log', 'external stores'],
])(
  'Ctrl-C ends the start without output and leaves no process, right after %s has appeared (%s)',
  { timeout: 300_000 },
  async (file, stores) => {
    const external = {
      DATABASE_URL: database.url,
      REDIS_URL: inject('redisUrl'),
      REDIS_NAMESPACE: 'test-ctrl-c',
    };
    await rm(join(dataDir.path, file), { force: true });
    const attempt = start({
      SOUK_DATA_DIR: dataDir.path,
      PORT: '0',
      ...(stores === 'external stores' ? external : {}),
    });
    await expect
      .poll(() => existsSync(join(dataDir.path, file)), { interval: 5, timeout: 120_000 })
      .toBe(true);
    attempt.interrupt();
    expect(await attempt.ended).toBe(0);
    expect(attempt.said()).toBe('');
    await expect.poll(() => processesWith(dataDir.path), { timeout: 120_000 }).toEqual([]);
  },
);

/** Without the kernel's note, which `setpriv` sets, a server survives the end of the start. */
test('Ctrl-C ends the start and leaves no server that the kernel would not stop yet', {
  timeout: 300_000,
}, async () => {
  const commands = join(dataDir.path, 'commands');
  const launched = join(commands, 'launched');
  await rm(commands, { recursive: true, force: true });
  await mkdir(commands);
  // The servers run as an unprivileged user.
  await chmod(commands, 0o777);
  const slow = [
    '#!/bin/sh',
    `: > ${launched}`,
    'while [ "$PPID" -eq "$(ps -o ppid= -p $$)" ]; do sleep 0.01; done',
    'exec /usr/bin/setpriv "$@"',
  ];
  await writeFile(join(commands, 'setpriv'), slow.join('\n'), { mode: 0o755 });
  const attempt = start({
    SOUK_DATA_DIR: dataDir.path,
    PORT: '0',
    PATH: `${commands}:${process.env.PATH}`,
  });
  await expect.poll(() => existsSync(launched), { interval: 5, timeout: 120_000 }).toBe(true);
  attempt.interrupt();
  expect(await attempt.ended).toBe(0);
  await expect.poll(() => processesWith(dataDir.path), { timeout: 120_000 }).toEqual([]);
});

/** Service managers and editors stop `npm start` so; npm passes the signal on to the process that it has started. */
test('SIGTERM to npm alone ends the start and leaves no process', { timeout: 300_000 }, async () => {
  const note = join(dataDir.path, 'start.pid');
  await rm(note, { force: true });
  const { PATH = '', HOME = '' } = process.env;
  const npm = spawn('npm', ['start'], {
    env: { PATH, HOME, SOUK_DATA_DIR: dataDir.path, PORT: '0' },
    stdio: 'ignore',
  });
  await expect.poll(() => existsSync(note), { timeout: 120_000 }).toBe(true);
  npm.kill('SIGTERM');
  await expect.poll(() => processesWith(dataDir.path), { timeout: 120_000 }).toEqual([]);
});

test('Ctrl-C stops a gateway and a worker cleanly, and their Redis, while Redis is stopped (SIGSTOP)', {
  timeout: 300_000,
}, async () => {
  const running = start({ SOUK_DATA_DIR: dataDir.path, PORT: '0', DATABASE_URL: database.url });
  await running.line(/^Souk ready: /m);
  const { redis } = await running.children();
  if (!redis) throw new Error('No Redis is running.');
  process.kill(redis, 'SIGSTOP');
  running.interrupt();
  expect(await running.ended).toBe(0);
  expect(running.said()).not.toContain('did not stop cleanly');
  expect(await processesWith(dataDir.path)).toEqual([]);
});
