import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { test } from '../../support/shared-souk-test.ts';

const run = promisify(execFile);

/** Generators and compilers take their time on a busy machine. */
const SLOW_MS = 240_000;

/** The program of a customer. The marked lines must not compile. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './souk.ts';

const { SOUK_URL: baseUrl = '', SOUK_KEY: key = '' } = process.env;
const souk = createClient<paths>({ baseUrl, headers: { 'X-API-Key': key } });

const { data, response } = await souk.GET('/api/market/product', {
  params: { query: { domain: 1, asins: ['B000000001', 'B000000002'], detailLevel: 'summary' } },
  querySerializer: { array: { style: 'form', explode: false } },
});
if (!data) throw new Error('no products');
const products: components['schemas']['Product'][] = data.data.products;

const posted = await souk.POST('/api/market/product', { body: { domain: 1, asins: ['B000000001'] } });
if (!posted.data) throw new Error('no products');

const refused = await souk.GET('/api/jobs/{id}', { params: { path: { id: 'x' } } });
const code: string | undefined = refused.error?.code;

console.log(
  JSON.stringify({
    asins: products.map(({ asin }) => asin),
    units: response.headers.get('X-Units-Consumed'),
    posted: posted.data.data.count,
    code,
  }),
);

export function wrong() {
  // @ts-expect-error: there is no such address
  void souk.GET('/api/market/moon');
  // @ts-expect-error: there is no such level
  void souk.GET('/api/market/product', { params: { query: { detailLevel: 'huge' } } });
  // @ts-expect-error: seller is required
  void souk.GET('/api/market/seller', { params: { query: { domain: 1 } } });
  // @ts-expect-error: there is no such site
  void souk.POST('/api/market/variations', { body: { domain: 7, asin: 'B000000001' } });
  // @ts-expect-error: the site is required
  void souk.GET('/api/market/product', { params: { query: { asins: ['B000000001'] } } });
  // @ts-expect-error: a count is a number
  const count: string = data ? data.data.count : '';
  return count;
}
`;

const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    rewriteRelativeImportExtensions: true,
    types: ['node'],
    skipLibCheck: true,
  },
  include: ['*.ts'],
};
const folder = mkdtempSync(join(tmpdir(), 'souk-client-'));
test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(
  'a client that is generated from the document compiles and makes calls',
  async ({ souk }) => {
    const modules = resolve('node_modules');
    const node = (args: string[], env: Record<string, string> = {}) =>
      run(process.execPath, args, { cwd: folder, env: { ...process.env, ...env } }).catch((error) => {
        throw new Error(`${error.message}\n${error.stdout}`);
      });
    symlinkSync(modules, join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(openApiDocument()));
    writeFileSync(join(folder, 'program.ts'), PROGRAM);

    const generator = join(modules, 'openapi-typescript', 'bin', 'cli.js');
    const oldTypescript = resolve('test/support/old-typescript.mjs');
    // Without this option it treats every parameter with a default as required.
    const options = ['openapi.json', '--default-non-nullable', 'false', '--output', 'souk.ts'];
    await node(['--import', oldTypescript, generator, ...options]);
    await node([join(modules, 'typescript', 'bin', 'tsc'), '--project', '.']);

    const { key, baseUrl } = await souk.client();
    const { stdout } = await node(['program.js'], { SOUK_URL: baseUrl, SOUK_KEY: key });
    expect(JSON.parse(stdout)).toEqual({
      asins: ['B000000001', 'B000000002'],
      units: '2',
      posted: 1,
      code: 'JOB_NOT_FOUND',
    });
  },
  SLOW_MS,
);
