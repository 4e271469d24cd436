import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { ProcessMessage } from '../src/platform/process.ts';
import { ensureDemoAccount } from '../src/start/demo-account.ts';
import { openTestDatabase } from './support/database.ts';

const run = promisify(execFile);

const database = await openTestDatabase();
let folder: string;
let env: NodeJS.ProcessEnv;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'souk-dist-'));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await run(process.execPath, ['scripts/build.mjs', join(folder, 'dist')]);
  env = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    DATABASE_URL: database.options.connectionString,
    REDIS_URL: inject('redisUrl'),
    REDIS_NAMESPACE: 'dist',
    KEEPA_API_KEY: 'any-key-of-sixteen-or-more',
    PORT: '0',
    LOG_LEVEL: 'warn',
  };
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

/** Starts a compiled program and returns what it says when it is ready. */
function startProgram(file: string): Promise<string> {
  const child = spawn(process.execPath, [join(folder, 'dist', file)], {
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

async function runProgram(file: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [join(folder, 'dist', file), ...args], { cwd: folder, env });
  return stdout;
}

test('the compiled programs answer a call', { timeout: 120_000 }, async () => {
  expect(await runProgram('src/migrate.js')).toBe('The database is up to date.\n');
  env.KEEPA_BASE_URL = await startProgram('demo/main.js');
  const [gateway] = await Promise.all([startProgram('src/main.js'), startProgram('workers/main.js')]);

  const key = await ensureDemoAccount(database, join(folder, 'demo-key'), Date.now());
  const reply = await fetch(`${gateway}/api/market/product?domain=1&asins=B08N5WRWNX`, {
    headers: { 'x-api-key': key },
  });
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({ code: '0000', data: { products: [{ asin: 'B08N5WRWNX' }] } });

  // Both read files beside the code: a guide, and the version in package.json.
  for (const path of ['/docs/first-call', '/openapi.json'])
    expect((await fetch(`${gateway}${path}`)).status).toBe(200);
});

test('the compiled command reads a report in threads', { timeout: 120_000 }, async () => {
  await runProgram('demo/reports/main.js', folder, '200', 'us:2026-03-07');
  const report = join(folder, 'us-2026-03-07.csv');
  const result = await runProgram('src/cli.js', 'aba', 'import', report, '--country', 'us', '--json');
  expect(JSON.parse(result)).toMatchObject({ week: '2026-03-07', terms: 200 });
});

test('the image is built from everything that is compiled or copied', async () => {
  const dockerfile = await readFile('Dockerfile', 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  );
  expect(copied).toEqual(expect.arrayContaining(await readdir(join(folder, 'dist'))));
});
