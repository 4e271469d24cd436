import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test as base, expect } from 'vitest';

/** Stands in for npm: installs the one package, and notes that it ran. */
const NPM = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
appendFileSync('runs', process.argv.slice(2).join(' ') + '\\n');
mkdirSync('node_modules/needed', { recursive: true });
writeFileSync('node_modules/needed/package.json', '{}');
writeFileSync('node_modules/.package-lock.json', '{}');
`;

/** A checkout with one package that it needs, and one that is optional and cannot be installed. */
const test = base.extend('checkout', async ({ task: _task }, { onCleanup }) => {
  const checkout = await mkdtemp(join(tmpdir(), 'souk-install-'));
  onCleanup(() => rm(checkout, { recursive: true, force: true }));
  const manifest = { dependencies: { needed: '1.0.0' }, optionalDependencies: { missing: '1.0.0' } };
  writeFileSync(join(checkout, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(checkout, 'package-lock.json'), '{}');
  writeFileSync(join(checkout, 'npm.mjs'), NPM);
  mkdirSync(join(checkout, 'scripts'));
  cpSync(resolve('scripts/install.mjs'), join(checkout, 'scripts', 'install.mjs'));
  return checkout;
});

function ensureInstalled(checkout: string): void {
  const script = "import { ensureInstalled } from './scripts/install.mjs'; ensureInstalled();";
  execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: checkout,
    env: { ...process.env, npm_execpath: join(checkout, 'npm.mjs') },
  });
}

const runsOf = (checkout: string) => readFileSync(join(checkout, 'runs'), 'utf8').trim().split('\n').length;

test('installs once, also if an optional package is missing', ({ checkout }) => {
  ensureInstalled(checkout);
  ensureInstalled(checkout);
  expect(runsOf(checkout)).toBe(1);
});

test.for(['node_modules', 'node_modules/needed', 'node_modules/.package-lock.json'])(
  'installs again after %s was removed',
  (path, { checkout }) => {
    ensureInstalled(checkout);
    rmSync(join(checkout, path), { recursive: true });
    if (path === 'node_modules') mkdirSync(join(checkout, path));
    ensureInstalled(checkout);
    expect(runsOf(checkout)).toBe(2);
  },
);
