import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killProcessesWith, processesWith } from '../support/processes.ts';
import { createDataDir, start } from '../support/start.ts';

let dataDir: Awaited<ReturnType<typeof createDataDir>>;
beforeAll(async () => {
  dataDir = await createDataDir();
});
afterAll(async () => {
  await killProcessesWith(dataDir.path);
  await dataDir.remove();
});

/** The log of each service appears when it is started. */
test.each(['postgres/postgres.log', 'redis/redis.log', 'demo.log', 'worker.log', 'gateway.log'])(
  'Ctrl-C when %s has just appeared ends the start quietly and leaves nothing running',
  { timeout: 300_000 },
  async (file) => {
    await rm(join(dataDir.path, file), { force: true });
    const attempt = start({ SOUK_DATA_DIR: dataDir.path, PORT: '0' });
    await expect
      .poll(() => existsSync(join(dataDir.path, file)), { interval: 5, timeout: 120_000 })
      .toBe(true);
    attempt.interrupt();
    expect(await attempt.ended).toBe(0);
    expect(attempt.said()).toBe('');
    await expect.poll(() => processesWith(dataDir.path), { timeout: 120_000 }).toEqual([]);
  },
);
