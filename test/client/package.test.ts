import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { expect, onTestFinished } from 'vitest';
import { asinsFrom, finished, type ResultLine } from '../support/batches.ts';
import { describeInBrowser, openBrowser } from '../support/browser.ts';
import { buildClientPackage } from '../support/client-package.ts';
import { TOUR, type TourOptions } from '../support/client-tour.ts';
import { openFaultProxy } from '../support/fault-proxy.ts';
import { shellExamples } from '../support/shell-examples.ts';
import { BODY, SECRET, signedHeaders } from '../support/signed-webhook.ts';
import { test as withService } from '../support/souk-test.ts';
import { everyTwoHours } from '../support/trackers.ts';
import { words } from '../support/words.ts';

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
  const all = `await Promise.all([${names.map((name) => `import('${name}')`).join()}]);`;
  writeFileSync(join(built.folder, 'all.mjs'), all);
  const { stdout } = await node(['all.mjs']);
  expect(stdout).toContain('QUOTA_MAX_UNITS 429');
  expect(stdout).toContain('50 true');
});

test('the commands of the README run', { timeout: SLOW_MS }, async ({ built, client }) => {
  const readme = readFileSync('clients/typescript/README.md', 'utf8');
  const commands = shellExamples(readme).find((script) => script.startsWith('npx souk-client login')) ?? '';
  const command = join(built.root, 'dist/command/souk-client.cjs');
  const script = `npx() { shift; '${process.execPath}' '${command}' "$@"; }
${commands.replace('http://127.0.0.1:3000', client.baseUrl)}`;
  const products = 'asin,detailLevel\nB08N5WRWNX,summary\nB07FZ8S74R,\n';
  writeFileSync(join(built.folder, 'products.csv'), products);
  const { SOUK_URL: _url, SOUK_API_KEY: _key, ...env } = process.env;
  const running = run('sh', ['-euc', script], {
    cwd: built.folder,
    env: { ...env, XDG_CONFIG_HOME: built.folder },
  });
  // The first command asks for the key.
  running.child.stdin?.end(`${client.key}\n`);
  const { stdout } = await running;
  expect(stdout).toContain('login.json');
  expect(stdout).toContain('activeBilling');
  expect(stdout).toContain('"asin": "B08N5WRWNX"');
  expect(stdout).toContain('Wrote result.csv\n');
  expect(stdout).toMatch(/^jobId,operation,state,.*\n.*,market\.product,done,/m);
  expect(stdout).toContain('"name": "B08N5WRWNX"');
  const [tracker] = (await client.get('/api/trackers')).json.data.trackers;
  expect(tracker).toMatchObject({
    cron: '0 6 * * *',
    conditions: [{ type: 'price_below', price: 'new', value: 1999 }, { type: 'back_in_stock' }],
  });
  expect(readFileSync(join(built.folder, 'result.csv'), 'utf8').trim().split('\n')).toHaveLength(3);
});

test('the command lists alerts of a tracker, which needs a condition', async ({ built, client, node }) => {
  const souk = (...args: string[]) => node([join(built.root, 'dist/command/souk-client.cjs'), ...args]);
  const made = await client.post('/api/trackers', everyTwoHours(['B08N5WRWNX']));
  expect((await souk('trackers', 'alerts', made.json.data.trackerId, '-o', 'json')).stdout).toBe('[]\n');
  await expect(souk('trackers', 'create', '--asins', 'B08N5WRWNX')).rejects.toMatchObject({
    stderr: expect.stringContaining('--price-below'),
  });
});

test('the command accepts operations by both names, and refuses an unknown one', async ({ built, node }) => {
  const souk = (...args: string[]) => node([join(built.root, 'dist/command/souk-client.cjs'), ...args]);
  const price = ['--country', 'us', '--dry-run', '-o', 'csv'];
  for (const name of ['market.topseller', 'market.topSeller'])
    expect((await souk('call', name, ...price)).stdout).toContain('50');
  await expect(souk('call', 'market.moon')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('got "market.moon"'),
  });
});

test.for<[string, string]>([
  ['lines', 'killed.jsonl'],
  ['a table', 'killed.csv'],
])(
  'a batch with %s continues after each kill of the command, and is charged once',
  { timeout: SLOW_MS },
  async ([_, out], { built, client }) => {
    const proxy = await openFaultProxy(() => client.baseUrl);
    onTestFinished(() => proxy.close());
    const asins = asinsFrom('B0KILL', 5);
    writeFileSync(join(built.folder, 'killed-items.csv'), `asin\n${asins.join('\n')}\n`);
    const path = join(built.folder, out);
    const linesNow = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []);
    const start = (): ChildProcess =>
      spawn(
        process.execPath,
        [
          join(built.root, 'dist/command/souk-client.cjs'),
          ...words('batch killed-items.csv --operation market.product --country us --out'),
          out,
        ],
        {
          cwd: built.folder,
          env: { ...process.env, SOUK_URL: proxy.url, SOUK_API_KEY: client.key },
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      );
    const killed = async (address: string, afterLines: number, written = 0) => {
      const stalled = proxy.stall(address, afterLines);
      const child = start();
      const ended = once(child, 'exit');
      await stalled;
      await expect.poll(linesNow).toHaveLength(written);
      child.kill('SIGKILL');
      expect(await ended).toEqual([null, 'SIGKILL']);
    };

    await killed('/api/batches', 0); // The batch exists, and the command does not know its id.
    await killed('/api/batches/', 0); // The command waits for the batch.
    const { batches } = (await client.get('/api/batches')).json.data;
    expect(batches).toHaveLength(1);
    await finished(client, batches[0]);
    await killed('/results', 2, out.endsWith('.csv') ? 0 : 2);
    // A machine that loses power may have written half of a line.
    if (!out.endsWith('.csv')) appendFileSync(path, '{"ind');
    expect(await once(start(), 'exit')).toEqual([0, null]);

    const lines = linesNow();
    if (out.endsWith('.csv')) expect(lines).toHaveLength(6);
    else expect(lines.map((line) => (JSON.parse(line) as ResultLine).index)).toEqual([0, 1, 2, 3, 4]);
    expect(readdirSync(built.folder).filter((name) => name.startsWith(`${out}.`))).toEqual([]);
    const { json } = await client.get('/api/batches');
    expect(json.data.batches).toMatchObject([{ batchId: batches[0].batchId, units: { charged: 5 } }]);
  },
);

describeInBrowser('in a browser', () => {
  test('makes a call, reads streams and verifies a webhook on a page of the service, and is refused on others', async ({
    built,
    client,
  }) => {
    const browser = await openBrowser();
    onTestFinished(() => browser.close());
    const { baseUrl } = client;
    const page = await browser.page({ baseURL: baseUrl });
    const serve = (path: string, contentType: string, body: string) =>
      page.route(`${baseUrl}${path}`, (route) => route.fulfill({ contentType, body }));
    const { code } = await transform(readFileSync('test/support/client-tour.ts', 'utf8'), { loader: 'ts' });
    await serve('/tour.js', 'text/javascript', code);
    const library = readFileSync(join(built.root, 'dist/esm/index.js'), 'utf8');
    await serve('/souk-client.js', 'text/javascript', library);
    const script = `import * as library from '/souk-client.js'; import { tour } from '/tour.js';
globalThis.start = (options) => tour(library, options);`;
    await serve('/tour', 'text/html', `<!doctype html><script type="module">${script}</script>`);
    await page.goto('/tour');
    const options: TourOptions = {
      baseUrl,
      apiKey: client.key,
      asins: asinsFrom('B0PAGE', 2),
      webhook: { body: BODY, headers: signedHeaders(), secret: SECRET },
    };
    expect(await page.evaluate(`start(${JSON.stringify(options)})`)).toEqual(TOUR);

    const elsewhere = 'http://localhost:8099/';
    await page.route(elsewhere, (route) => route.fulfill({ contentType: 'text/html', body: '' }));
    await page.goto(elsewhere);
    const call = `fetch('${baseUrl}/api/quota', { headers: { 'x-api-key': '${client.key}' } })`;
    expect(await page.evaluate(`${call}.then(() => 'answered', ({ name }) => name)`)).toBe('TypeError');
  });
});

test('publint and Are the Types Wrong find nothing to report', { timeout: SLOW_MS }, async ({ built }) => {
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
