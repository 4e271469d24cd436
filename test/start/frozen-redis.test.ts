import { afterAll, beforeAll, expect, test } from 'vitest';
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
