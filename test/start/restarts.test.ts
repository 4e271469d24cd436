import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { type Client, createClient } from '../support/client.ts';
import { isAlive, killProcessesWith } from '../support/processes.ts';
import { createDataDir, type Start, start } from '../support/start.ts';
import { unitsUsed } from '../support/units.ts';

// One data folder: each test continues where the test before has stopped.
let dataDir: Awaited<ReturnType<typeof createDataDir>>;
let env: Record<string, string>;
let current: Start;
let key: string;
let client: Client;
let address: string;

beforeAll(async () => {
  dataDir = await createDataDir();
  const port = await freePort();
  env = { SOUK_DATA_DIR: dataDir.path, PORT: String(port) };
  address = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await killProcessesWith(dataDir.path);
  await dataDir.remove();
});

const PATH = '/api/market/product?domain=1&asins=B0CC11BB22';
const isServed = async () => (await client.get(PATH)).status;

test('starts all processes', { timeout: 300_000 }, async () => {
  current = start(env);
  [, key = ''] = await current.line(/^Demo key: (\S+)$/m);
  client = createClient(address, key);
  expect(await isServed()).toBe(200);
});

test.each([
  ['redis', 'Redis'],
  ['postgres', 'PostgreSQL'],
])('restarts %s with its data after it was killed', { timeout: 300_000 }, async (program, name) => {
  const { [program]: killed = 0, gateway, worker } = await current.children();
  process.kill(killed, 'SIGKILL');
  await current.line(new RegExp(`^The embedded ${name} ended; starting it again\\.$`, 'm'));
  await expect.poll(() => isAlive(killed)).toBe(false);
  await expect.poll(isServed, { timeout: 120_000 }).toBe(200);
  // The call, its charge and its answer are those from before, and no other process was restarted.
  expect((await client.get(PATH)).headers['x-deduplicated']).toBe('true');
  expect(await unitsUsed(client)).toBe(1);
  expect(await current.children()).toMatchObject({ gateway, worker });
});

test('restarts a killed gateway', { timeout: 300_000 }, async () => {
  const { gateway = 0 } = await current.children();
  process.kill(gateway, 'SIGKILL');
  await expect.poll(() => isServed().catch(() => 0), { timeout: 120_000 }).toBe(200);
});

test('waits for a service that is stopping', { timeout: 300_000 }, async () => {
  current.interrupt();
  const next = start(env);
  expect(await current.ended).toBe(0);
  current = next;
  await current.line(new RegExp(`^Demo key: ${key}$`, 'm'));
  expect(await unitsUsed(client)).toBe(1);
});

test('waits for the processes that a killed service has left', { timeout: 300_000 }, async () => {
  current.kill();
  current = start(env);
  await current.line(new RegExp(`^Demo key: ${key}$`, 'm'));
  expect(await unitsUsed(client)).toBe(1);
  current.interrupt();
  expect(await current.ended).toBe(0);
});
