import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hasCommand } from '../../src/platform/embedded/binaries.ts';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { type Client, createClient } from '../support/client.ts';
import { isAlive, killProcessesWith, processesWith } from '../support/processes.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';
import { createDataDir, type Start, start } from '../support/start.ts';
import { unitsUsed } from '../support/units.ts';

const run = promisify(execFile);
const SERVICES = ['demo', 'gateway', 'postgres', 'redis', 'worker'];

// Each test continues where the previous one has stopped: a start of the whole service takes seconds.
let dataDir: Awaited<ReturnType<typeof createDataDir>>;
let env: Record<string, string>;
let address: string;
let current: Start;
let key: string;
let token: string;
let client: Client;
/** The file in which `npm start` notes the addresses of its stores for the operator's command. */
let note: string;
let command: SoukCommand;
/** The services of a start, whose end is expected. */
let children: number[];
const bystander = spawn('sleep', ['3600'], { stdio: 'ignore' });

beforeAll(async () => {
  dataDir = await createDataDir();
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  // Fewer terms, because generating and importing them takes most of a start.
  env = { SOUK_DATA_DIR: dataDir.path, PORT: String(port), DEMO_REPORT_TERMS: '200' };
  note = join(dataDir.path, 'services.json');
  command = soukCommand({ SOUK_DATA_DIR: dataDir.path });
});
afterAll(async () => {
  bystander.kill();
  await killProcessesWith(dataDir.path);
  await dataDir.remove();
});

const CALL = '/api/market/product?domain=1&asins=B0CC11BB22';
/** @returns the id of the killed process. */
async function kill(program: string): Promise<number> {
  const { [program]: pid } = await current.children();
  // 0 would kill the processes of the test.
  if (!pid) throw new Error(`No ${program} is running.`);
  process.kill(pid, 'SIGKILL');
  return pid;
}

const isServed = async () => (await client.get(CALL).catch(() => ({ status: 0 }))).status;

test('the first start prints its address, the demo key and an example call', {
  timeout: 300_000,
}, async () => {
  current = start(env, 'checkout');
  const [, curl = ''] = await current.line(/^Try: (curl .+)$/m);
  expect(current.said()).toContain(`Souk ready: ${address}\n`);
  [, key = ''] = await current.line(/^Demo key: (km_[A-Za-z0-9]{32})$/m);
  [, token = ''] = await current.line(/^Operator console: http:\S+\/admin {2}token: (\S{16,})$/m);
  expect(current.said()).toContain(`Operator console: ${address}/admin  token: ${token}\n`);
  expect((await stat(join(dataDir.path, 'admin-token'))).mode & 0o777).toBe(0o600);
  client = createClient(address, key);
  expect(Object.keys(await current.children()).sort()).toEqual(SERVICES);

  expect(curl).toMatch(/^curl -H "X-API-Key: km_\w+" "http:[^"]+"$/);
  expect(JSON.parse(await answerTo(curl))).toMatchObject({ code: '0000', data: { count: 1 } });
  expect(await unitsUsed(client)).toBe(1);
});

test('loads weekly reports of all nine sites', { timeout: 300_000 }, async () => {
  const countries = async () => (await client.get('/api/aba/countries')).json.data.countries;
  const weeksOf = (one: { available_dates: string[] }) => one.available_dates.length;
  await expect
    .poll(async () => (await countries()).map(weeksOf), { timeout: 120_000 })
    .toEqual([5, 2, 2, 2, 2, 2, 2, 2, 2]);
  await expect.poll(() => existsSync(join(dataDir.path, 'demo-reports'))).toBe(false);
});

test('the operator console accepts only the printed token', async () => {
  const ask = (authorization: string) => client.raw('/admin', { headers: { authorization } });
  expect((await ask(`Bearer ${token}`)).status).toBe(200);
  expect((await ask(`Bearer ${token}x`)).status).toBe(401);
});

test("the operator's command without settings uses the running service", { timeout: 300_000 }, async () => {
  expect((await stat(note)).mode & 0o777).toBe(0o600);
  const { id } = await command.json('account create --email ann@shop.example');
  await command.json(`grant subscription --account ${id} --plan trial`);
  const created = await command.json(`key create --account ${id}`);
  const reply = await createClient(address, created.key).get('/api/market/product?domain=1&asins=B0AA11BB22');
  expect(reply.status).toBe(200);
  expect(await command.json(`usage --account ${id}`)).toMatchObject({ calls: 1, units: 1 });

  const { ok, checks } = await command.json('doctor');
  expect(ok).toBe(true);
  expect(new Set(checks.map(({ state }: { state: string }) => state))).toEqual(new Set(['ok']));
});

test('refuses a second start on the same folder while the first runs', async () => {
  const second = start({ ...env, PORT: '0' });
  expect(await second.ended).toBe(1);
  expect(second.said()).toContain(`Souk is already running on ${dataDir.path} (process ${current.pid})`);
  expect(Object.keys(await current.children()).sort()).toEqual(SERVICES);
});

test.each(['worker', 'gateway'])(
  'restarts a killed %s, and answers calls again',
  { timeout: 300_000 },
  async (program) => {
    const killed = await kill(program);
    await current.line(new RegExp(`^The ${program} process ended \\(SIGKILL\\); starting it again\\.$`, 'm'));
    await expect.poll(isServed, { timeout: 120_000 }).toBe(200);
    const restarted = await current.children();
    expect(Object.keys(restarted).sort()).toEqual(SERVICES);
    expect(restarted[program]).not.toBe(killed);
  },
);

test.each([
  ['redis', 'Redis'],
  ['postgres', 'PostgreSQL'],
])(
  'restarts a killed %s with its data, and no other process',
  { timeout: 300_000 },
  async (program, name) => {
    expect(await isServed()).toBe(200);
    const { gateway, worker } = await current.children();
    const killed = await kill(program);
    await current.line(new RegExp(`^The embedded ${name} ended; starting it again\\.$`, 'm'));
    await expect.poll(() => isAlive(killed)).toBe(false);
    await expect.poll(isServed, { timeout: 120_000 }).toBe(200);
    // The call, its charge and its answer are those from before.
    expect((await client.get(CALL)).headers['x-deduplicated']).toBe('true');
    expect(await unitsUsed(client)).toBe(2);
    expect(await current.children()).toMatchObject({ gateway, worker });
  },
);

test("the operator's command does not use the note of a killed start", async () => {
  children = Object.values(await current.children());
  expect(children).toHaveLength(SERVICES.length);
  current.kill();
  expect(await current.ended).toBeNull();
  expect(await readFile(note, 'utf8')).toContain('postgresql://');
  const { code, stderr } = await command.run('account list');
  expect([code, stderr]).toMatchObject([1, expect.stringMatching(/^DATABASE_URL is not set, /)]);
  await writeFile(note, 'not JSON', { mode: 0o644 });
  expect((await command.run('account list')).code).toBe(1);
});

test('all processes of a killed start end, and the next start waits for them, has the same key, token and data, and writes a new note', {
  timeout: 300_000,
}, async () => {
  current = start(env);
  await current.line(new RegExp(`^Demo key: ${key}$`, 'm'));
  await current.line(new RegExp(`^Operator console: .*token: ${token}$`, 'm'));
  // The processes end by themselves; a start only waits for them.
  expect(children.filter(isAlive)).toEqual([]);
  expect(await unitsUsed(client)).toBe(2);
  expect((await stat(note)).mode & 0o777).toBe(0o600);
  expect(await command.text('account list')).toContain('ann@shop.example');
});

test('Ctrl-C stops all started processes and no other, and a start waits for a service that is stopping', {
  timeout: 300_000,
}, async () => {
  children = Object.values(await current.children());
  expect(children).toHaveLength(SERVICES.length);
  current.interrupt();
  const next = start(env);
  expect(await current.ended).toBe(0);
  expect(children.filter(isAlive)).toEqual([]);
  // It has waited, and starts its own services now.
  await expect.poll(async () => (await next.children()).postgres, { timeout: 120_000 }).toBeDefined();
  next.interrupt();
  expect(await next.ended).toBe(0);
  // A child of Redis that writes its file ends soon after Redis.
  await expect.poll(() => processesWith(dataDir.path)).toEqual([]);
  expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
  await expect(client.get('/healthz')).rejects.toThrow();
});

test("after a stop the operator's command says which setting is missing", async () => {
  await expect(stat(note)).rejects.toThrow('ENOENT');
  const { code, stderr } = await command.run('account list');
  expect([code, stderr]).toMatchObject([
    1,
    expect.stringMatching(/^DATABASE_URL is not set, .* run `npm start`\.\n$/),
  ]);
});

/** Runs the curl command, or makes the same request if curl is not installed. */
async function answerTo(curl: string): Promise<string> {
  if (await hasCommand('curl')) return (await run('sh', ['-c', `${curl} --silent`])).stdout;
  const [, header = '', url = ''] = /"X-API-Key: (\w+)" "([^"]+)"/.exec(curl) ?? [];
  return (await fetch(url, { headers: { 'x-api-key': header } })).text();
}
