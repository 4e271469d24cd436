// biome-ignore-all lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures are used.
// oxlint-disable no-empty-pattern -- for the same reason
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { expect } from 'vitest';
import { buildClientPackage } from '../support/client-package.ts';
import { test as withService } from '../support/souk-test.ts';

/** Tests of the built package: its size, its types, its README and its command. */
const run = promisify(execFile);

const LARGEST_BYTES = 30_000;
const API_REPORT = 'clients/typescript/api-report.txt';
const SLOW_MS = 240_000;

const test = withService
  .override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url }))
  .extend('built', { scope: 'file' }, async ({}, { onCleanup }) => {
    const built = await buildClientPackage();
    onCleanup(() => built.close());
    return built;
  })
  .extend(
    'node',
    ({ built, client }) =>
      (args: string[], env: Record<string, string> = {}) =>
        run(process.execPath, args, {
          cwd: built.folder,
          env: {
            ...process.env,
            SOUK_URL: client.baseUrl,
            SOUK_API_KEY: client.key,
            XDG_CONFIG_HOME: built.folder,
            ...env,
          },
        }),
  );

test('the library is smaller than 30 KB', { timeout: SLOW_MS }, ({ built }) => {
  for (const form of ['esm', 'cjs']) {
    const { length } = readFileSync(join(built.root, 'dist', form, 'index.js'));
    expect(length).toBeLessThan(LARGEST_BYTES);
  }
});

test('the interface of the package changes only on purpose', ({ built }) => {
  const types = join(built.root, 'dist/esm');
  const report = filesOf(types, 'index')
    .map((name) => `// ${name}\n${readFileSync(join(types, `${name}.d.ts`), 'utf8')}`)
    .join('\n');
  if (process.env.SOUK_UPDATE_API_REPORT) writeFileSync(API_REPORT, report);
  const advice = `set SOUK_UPDATE_API_REPORT=1 to write ${API_REPORT}, if the change is intended`;
  expect(report, advice).toBe(readFileSync(API_REPORT, 'utf8'));
});

/** Returns the declarations that the main one is made of; generated files have a test of their own. */
function filesOf(folder: string, name: string, found = new Set<string>()): string[] {
  found.add(name);
  const text = readFileSync(join(folder, `${name}.d.ts`), 'utf8');
  for (const [, other = ''] of text.matchAll(/from '\.\/([\w-]+)\.js'/g))
    if (!found.has(other)) filesOf(folder, other, found);
  return [...found];
}

test('CommonJS and ES modules import the same names', async ({ node }) => {
  const print = 'console.log(Object.keys(souk).sort().join())';
  const esm = await node(['--input-type=module', '-e', `import * as souk from 'souk-client'; ${print}`]);
  const cjs = await node(['--input-type=commonjs', '-e', `const souk = require('souk-client'); ${print}`]);
  expect(esm.stdout).toContain('Souk,SoukError');
  expect(cjs.stdout).toBe(esm.stdout);
});

test('the examples of README and guide run', { timeout: SLOW_MS }, async ({ built, node }) => {
  const texts = ['clients/typescript/README.md', 'docs/guides/clients.md'].map((path) =>
    readFileSync(path, 'utf8'),
  );
  const examples = [...texts.join('\n').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
  expect(examples.length).toBeGreaterThan(4);
  const names = await Promise.all(
    examples.map(async (example, i) => {
      const { code } = await transform(example, { loader: 'ts', format: 'esm' });
      writeFileSync(join(built.folder, `example-${i}.mjs`), code);
      return `./example-${i}.mjs`;
    }),
  );
  writeFileSync(join(built.folder, 'all.mjs'), names.map((name) => `await import('${name}');`).join('\n'));
  const { stdout } = await node(['all.mjs']);
  expect(stdout).toContain('QUOTA_MAX_UNITS 429');
  expect(stdout).toContain('50 true');
});

const hasPython = spawnSync('python3', ['-c', 'import requests']).status === 0;

test.runIf(hasPython)('the Python example of the guide runs', async ({ client }) => {
  const guide = readFileSync('docs/guides/clients.md', 'utf8');
  const [, program = ''] = /^```python\n(.*?)^```$/ms.exec(guide) ?? [];
  expect(program.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(20);
  const env = { ...process.env, SOUK_URL: client.baseUrl, SOUK_API_KEY: client.key };
  const { stdout } = await run('python3', ['-c', program], { env });
  expect(stdout).toMatch(/^B08N5WRWNX .+ \d/);
});

test('the command logs in, shows quota and jobs, makes calls and runs batches', { timeout: SLOW_MS }, async ({
  built,
  node,
  client,
}) => {
  const souk = (...args: string[]) => node([join(built.root, 'dist/command/souk-client.cjs'), ...args]);
  const { stdout: stored } = await souk('login', '--url', client.baseUrl, '--key', client.key);
  expect(stored).toContain('login.json');
  expect((await souk('quota')).stdout).toContain('activeBilling');
  const called = await souk(
    'call',
    'market.product',
    '--country',
    'us',
    '--asins',
    'B08N5WRWNX',
    '-o',
    'json',
  );
  expect(JSON.parse(called.stdout)).toMatchObject({ country: 'us', count: 1 });
  expect(
    (await souk('call', 'market.topseller', '--country', 'us', '--dry-run', '-o', 'csv')).stdout,
  ).toContain('50');
  writeFileSync(join(built.folder, 'items.csv'), 'asin\nB08N5WRWNX\nB07FZ8S74R\n');
  const batch = (out: string) =>
    souk(
      'batch',
      'items.csv',
      '--operation',
      'market.product',
      '--out',
      out,
      '--country',
      'us',
      '--detail-level',
      'summary',
    );
  expect((await batch('out.csv')).stdout).toBe('Wrote out.csv\n');
  const table = readFileSync(join(built.folder, 'out.csv'), 'utf8').trim().split('\n');
  expect(table).toHaveLength(3);
  // A run that ended before the answer with the id of its batch has left its key.
  for (let runs = 0; runs < 2; runs += 1) {
    writeFileSync(join(built.folder, 'out.ndjson.souk.json'), '{"idempotencyKey":"kept"}');
    await batch('out.ndjson');
  }
  expect((await client.get('/api/batches')).json.data.batches).toHaveLength(2);
  expect(readFileSync(join(built.folder, 'out.ndjson'), 'utf8').trim().split('\n')).toHaveLength(2);
  expect((await souk('jobs', '-o', 'csv')).stdout).toContain('market.product');
  await expect(souk('call', 'market.moon')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('got "market.moon"'),
  });
});

test('the package has no findings of publint and Are the Types Wrong', { timeout: SLOW_MS }, async ({
  built,
}) => {
  const { publint } = await import('publint');
  const { messages } = await publint({ pkgDir: built.root, pack: false, strict: true });
  expect(messages).toEqual([]);
  const cli = join(
    dirname(createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json')),
    'dist/index.js',
  );
  const { stdout: packed } = await run('npm', ['pack', '--ignore-scripts', '--json'], { cwd: built.root });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  const { stdout } = await run(process.execPath, [cli, join(built.root, filename), '--format', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({ problems: {} });
});
