import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parquetReadObjects } from 'hyparquet';
import { readSheet } from 'read-excel-file/node';
import { describe, expect, onTestFinished } from 'vitest';
import { PYTHON_FOLDER } from '../../scripts/client/files.ts';
import { pythonFiles } from '../../scripts/client/python.ts';
import { createTestKey } from '../../src/billing/test-wallet.ts';
import { newAsin } from '../support/answers.ts';
import type { Client } from '../support/client.ts';
import { openFaultProxy } from '../support/fault-proxy.ts';
import { testReportsLoaded } from '../support/reports.ts';
import { test as withService } from '../support/souk-test.ts';

/** Tests of the Python client: without a service, with one, and the examples of its README and of the guides. */
const run = promisify(execFile);
const PACKAGE = resolve('clients/python');
const SLOW_MS = 240_000;

/** The first Python with pandas, or else the first that is new enough; null if there is none. */
const python = (() => {
  const works = (name: string, program: string) => spawnSync(name, ['-c', program]).status === 0;
  const isNew = 'import sys; sys.exit(sys.version_info < (3, 9))';
  const found = ['python3', '/usr/bin/python3'].filter((name) => works(name, isNew));
  return found.find((name) => works(name, 'import pandas')) ?? found[0] ?? null;
})();
const hasPandas = python !== null && spawnSync(python, ['-c', 'import pandas']).status === 0;

const test = withService.override('soukOptions', ({ demo }) => ({
  testUrl: demo.url,
  upstreamUrl: demo.url,
  testReports: { weeks: { first: 2, others: 0 }, terms: 300 },
}));

/** Runs a program or a module in a folder of its own, and returns what it prints. */
async function runPython(args: string[], { baseUrl, key }: Pick<Client, 'baseUrl' | 'key'>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'souk-python-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = {
    ...process.env,
    PYTHONPATH: join(PACKAGE, 'src'),
    PYTHONDONTWRITEBYTECODE: '1',
    SOUK_URL: baseUrl,
    SOUK_API_KEY: key,
  };
  const { stdout } = await run(python ?? '', args, { cwd: folder, env });
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  return stdout;
}

test('the generated files of the client are those of the present contracts', () => {
  for (const [name, text] of Object.entries(pythonFiles()))
    expect(readFileSync(join(PYTHON_FOLDER, name), 'utf8'), 'run npm run generate').toBe(text);
});

/** Fails without pip, or without setuptools that builds wheels by itself or with the package wheel. */
const CAN_BUILD = `import pip, setuptools
if int(setuptools.__version__.split(".")[0]) < 71: import wheel`;

const examplesOf = (path: string) =>
  [...readFileSync(path, 'utf8').matchAll(/^```python\n(.*?)^```$/gms)].map(([, code = '']) => code);

/** The examples by the document that has them, and what some of them print. */
const DOCUMENTS: readonly (readonly [path: string, least: number, printed: readonly string[]])[] = [
  ['clients/python/README.md', 11, ['QUOTA_MAX_UNITS 429', '2 of 2', 'asins item 1 must']],
  ['docs/guides/clients.md', 1, ['B08N5WRWNX']],
  ['docs/guides/analysis-tools.md', 1, ['(2, ']],
  ['docs/guides/from-keepa.md', 1, ['B08N5WRWNX']],
];

const note = python === null ? ' (skipped: there is no python3 of 3.9 or later)' : '';

describe.runIf(python !== null)(`the Python client${note}`, () => {
  test('passes its own tests', { timeout: SLOW_MS }, async ({ client }) => {
    const args = ['-m', 'unittest', 'discover', '-q', '-t', PACKAGE, '-s', join(PACKAGE, 'tests')];
    await runPython(args, client);
  });

  test.for(DOCUMENTS)(
    'runs the examples of %s',
    { timeout: SLOW_MS },
    async ([path, least, printed], { souk, skip }) => {
      await testReportsLoaded(souk, 2);
      const { accountId } = await souk.account();
      const client = souk.clientOf(await createTestKey(souk.database, accountId, souk.clock.now()));
      const examples = examplesOf(path);
      expect(examples.length).toBeGreaterThanOrEqual(least);
      const runnable = examples.filter((example) => hasPandas || !example.includes('to_frame'));
      skip(runnable.length === 0, 'there is no pandas');
      const outputs: string[] = [];
      for (const example of runnable) {
        const output = await runPython(['-c', example], client);
        expect(output, example).not.toBe('');
        outputs.push(output);
      }
      for (const text of printed) expect(outputs.join('\n')).toContain(text);
    },
  );

  test('repeats a call whose answer got lost; it is charged once', async ({ client }) => {
    const proxy = await openFaultProxy(() => client.baseUrl);
    onTestFinished(() => proxy.close());
    proxy.next('/api/market/product', { kind: 'lose' });
    const program = `from souk import Souk
souk = Souk()
answer = souk.market.product(country="us", asins=["${newAsin()}"], detailLevel="summary")
print(answer.meta.is_deduplicated, answer.meta.units, souk.units.spent)`;
    const output = await runPython(['-c', program], { baseUrl: proxy.url, key: client.key });
    expect(output).toBe('True 1 1\n');
    expect(proxy.requests.filter((line) => line.includes('/api/market/product'))).toHaveLength(2);
  });

  test('saves each form of a table, of calls and of batches', { timeout: SLOW_MS }, async ({ client }) => {
    const program = `import base64, json
from souk import Souk
souk = Souk()
ask = {"country": "us", "asins": ["${newAsin()}"]}
batch = souk.batches.create(operation="market.product", items=[ask]).data["batchId"]
souk.batches.wait(batch)
files = [souk.save("call.csv", "market.product", table="products", **ask).data]
for form in ("ndjson", "xlsx", "parquet"):
    files.append(souk.save("call." + form, "market.product", table="products", **ask).data)
    files.append(souk.batches.save(batch, "batch-" + form, format=form, table="products"))
print(json.dumps({name: base64.b64encode(open(name, "rb").read()).decode() for name in files}))`;
    const files = JSON.parse(await runPython(['-c', program], client)) as Record<string, string>;
    const bytes = (name: string) => Buffer.from(files[name] ?? '', 'base64');
    expect(bytes('call.csv').toString()).toMatch(/^asin,country,.*\nB0/);
    const count = bytes('call.csv').toString().trim().split('\n').length - 1;
    expect(bytes('call.ndjson').toString().trim().split('\n')).toHaveLength(count);
    for (const name of ['call.parquet', 'batch-parquet'])
      expect(await parquetReadObjects({ file: Uint8Array.from(bytes(name)).buffer })).toHaveLength(count);
    for (const name of ['call.xlsx', 'batch-xlsx'])
      expect(await readSheet(bytes(name))).toHaveLength(count + 1);
  });

  test('can be installed where setuptools is, and is then imported from there', async ({ client, skip }) => {
    skip(
      spawnSync(python ?? '', ['-c', CAN_BUILD]).status !== 0,
      'there is no setuptools that builds wheels',
    );
    const folder = mkdtempSync(join(tmpdir(), 'souk-python-package-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const copy = join(folder, 'package');
    await run('cp', ['-r', PACKAGE, copy]);
    const options = ['--no-build-isolation', '--no-deps', '--no-index', '--quiet'];
    await run(python ?? '', ['-m', 'pip', 'install', ...options, '--target', join(folder, 'site'), copy]);
    writeFileSync(
      join(folder, 'main.py'),
      'import souk; print(souk.__file__, souk.Souk().account.quota().meta.status)',
    );
    const env = {
      ...process.env,
      PYTHONPATH: join(folder, 'site'),
      SOUK_URL: client.baseUrl,
      SOUK_API_KEY: client.key,
    };
    const { stdout } = await run(python ?? '', [join(folder, 'main.py')], { env });
    expect(stdout).toBe(`${join(folder, 'site/souk/__init__.py')} 200\n`);
    expect(readdirSync(join(folder, 'site/souk'))).toContain('py.typed');
  });
});
