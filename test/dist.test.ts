import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { COPIED, SOURCES } from '../scripts/dist.mjs';
import type { ProcessMessage } from '../src/platform/process.ts';
import { ensureDemoAccount } from '../src/start/demo-account.ts';
import { test as base } from './support/souk-test.ts';

const run = promisify(execFile);

/** The folder of the compiled programs. */
const DIST = inject('programs');
const children: ChildProcess[] = [];
let folder: string;

const test = base.extend(
  'env',
  { scope: 'file' },
  ({ database }): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    DATABASE_URL: database.options.connectionString,
    REDIS_URL: inject('redisUrl'),
    REDIS_NAMESPACE: 'dist',
    KEEPA_API_KEY: 'any-key-of-sixteen-or-more',
    PORT: '0',
    LOG_LEVEL: 'warn',
  }),
);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'souk-dist-'));
});
afterAll(async () => {
  await Promise.all(
    children.map(async (child) => {
      const ended = new Promise((done) => child.once('exit', done));
      if (child.kill()) await ended;
    }),
  );
  await rm(folder, { recursive: true, force: true });
});

/** Starts a compiled program. @returns what it reports when it is ready. */
function startProgram(env: NodeJS.ProcessEnv, file: string): Promise<string> {
  const child = spawn(process.execPath, [join(DIST, file)], {
    cwd: folder,
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  children.push(child);
  return new Promise((ready, fail) => {
    child.once('message', (message: ProcessMessage) =>
      'ready' in message ? ready(message.ready) : fail(new Error(message.failed)),
    );
    child.once('exit', (code) => fail(new Error(`${file} ended with ${code}`)));
  });
}

async function runProgram(env: NodeJS.ProcessEnv, file: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [join(DIST, file), ...args], { cwd: folder, env });
  return stdout;
}

test('the compiled programs answer a call', { timeout: 120_000 }, async ({ database, env }) => {
  expect(await runProgram(env, 'src/migrate.js')).toBe('The database is up to date.\n');
  env.KEEPA_BASE_URL = await startProgram(env, 'demo/main.js');
  const [gateway] = await Promise.all([
    startProgram(env, 'src/main.js'),
    startProgram(env, 'workers/main.js'),
  ]);

  const key = await ensureDemoAccount(database, join(folder, 'demo-key'), Date.now());
  const reply = await fetch(`${gateway}/api/market/product?domain=1&asins=B08N5WRWNX`, {
    headers: { 'x-api-key': key },
  });
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({ code: '0000', data: { products: [{ asin: 'B08N5WRWNX' }] } });

  // Both requests read files that the build copies: a guide, and the version in package.json.
  for (const path of ['/docs/first-call', '/openapi.json'])
    expect((await fetch(`${gateway}${path}`)).status).toBe(200);
});

/** A machine whose clock is a day ahead. */
const DAY_AHEAD = `data:text/javascript,${encodeURIComponent('const now = Date.now; Date.now = () => now() + 86_400_000;')}`;

test('a gateway on a machine a day ahead is not ready, and refuses a call that another gateway answers', {
  timeout: 120_000,
}, async ({ database, env }) => {
  const gateway = await startProgram({ ...env, NODE_OPTIONS: `--import ${DAY_AHEAD}` }, 'src/main.js');
  const ready = await fetch(`${gateway}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'not ready', missing: [], clockAheadSeconds: expect.closeTo(86_400, -1) },
  ]);
  const key = await ensureDemoAccount(database, join(folder, 'demo-key'), Date.now());
  const headers = { 'x-api-key': key };
  const refused = await fetch(`${gateway}/api/market/product?domain=1&asins=B08N5WRWNX`, { headers });
  expect([refused.status, await refused.json()]).toMatchObject([503, { code: 'BUSY' }]);
  expect((await fetch(`${gateway}/api/quota`, { headers })).status).toBe(200);
});

test('the compiled command imports a report', { timeout: 120_000 }, async ({ env }) => {
  await runProgram(env, 'demo/reports/main.js', folder, '200', 'us:2026-03-07');
  const report = join(folder, 'us-2026-03-07.csv');
  const result = await runProgram(env, 'src/cli.js', 'aba', 'import', report, '--country', 'us', '--json');
  expect(JSON.parse(result)).toMatchObject({ week: '2026-03-07', terms: 200 });
});

test('the image is built from everything that is compiled or copied', async () => {
  const dockerfile = await readFile('Dockerfile', 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  );
  expect(copied).toEqual(expect.arrayContaining([...SOURCES, ...COPIED, 'scripts']));
});

test('the image has tools of PostgreSQL that are not older than the server of docker-compose.yml', async () => {
  const [, tools] = /postgresql-client-(\d+)/.exec(await readFile('Dockerfile', 'utf8')) ?? [];
  const [, server] = /image: postgres:(\d+)/.exec(await readFile('docker-compose.yml', 'utf8')) ?? [];
  expect(Number(tools)).toBeGreaterThanOrEqual(Number(server));
});
