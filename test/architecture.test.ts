import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const FOLDERS = ['src', 'jobs', 'workers'];
const LONGEST_FILE = 300;

interface SourceFile {
  path: string;
  lines: number;
  /** Files of ours it imports, by path from the root. */
  files: string[];
  /** Packages and built-in modules it imports. */
  packages: string[];
}

/** `import ... from 'x'`, `export ... from 'x'`, `import 'x'`, `import('x')`. */
const SPECIFIER = /(?:^\s*(?:import|export)\b[^'";]*?\bfrom\s*|^\s*import\s*|\bimport\s*\(\s*)'([^']+)'/gm;

const FILES: SourceFile[] = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => read(join(folder, name))),
);
const BY_PATH = new Map(FILES.map((file) => [file.path, file]));

function read(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const specifiers = [...text.matchAll(SPECIFIER)].map(([, specifier = '']) => specifier);
  return {
    path,
    lines: text.trimEnd().split('\n').length,
    files: specifiers
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => relative(ROOT, resolve(ROOT, dirname(path), specifier))),
    packages: specifiers.filter((specifier) => !specifier.startsWith('.')),
  };
}

/** `importer -> imported` for each import from below one of `from` of something below one of `to`. */
function imports(from: readonly string[], to: readonly string[]): string[] {
  const below = (folders: readonly string[], path: string) =>
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
  return FILES.filter(({ path }) => below(from, path)).flatMap(({ path, files }) =>
    files.filter((file) => below(to, file)).map((file) => `${path} -> ${file}`),
  );
}

/** Every file of ours that is loaded with this one. */
function reachableFrom(path: string, seen = new Set<string>()): Set<string> {
  for (const file of BY_PATH.get(path)?.files ?? []) {
    if (seen.has(file)) continue;
    seen.add(file);
    reachableFrom(file, seen);
  }
  return seen;
}

test('every import of ours leads to a file that is looked at here', () => {
  expect(FILES.length).toBeGreaterThan(100);
  const unknown = FILES.flatMap(({ path, files }) =>
    files.filter((file) => !BY_PATH.has(file) && !file.endsWith('.json')).map((file) => `${path} -> ${file}`),
  );
  expect(unknown).toEqual([]);
  // The rules below are worth nothing if imports are overlooked.
  expect(imports(['src/http'], ['src/operations']).length).toBeGreaterThan(3);
  expect(imports(['src/start.ts'], ['src/start']).length).toBeGreaterThan(1);
});

test('http and workers never import each other', () => {
  expect(imports(['src/http', 'src/gateway/app.ts'], ['workers'])).toEqual([]);
  expect(imports(['workers'], ['src/http', 'src/gateway/app.ts'])).toEqual([]);
});

test('no gateway loads a worker, no worker loads a gateway', () => {
  const gateway = [...reachableFrom('src/main.ts')];
  expect(gateway).toContain('src/api/operations.ts');
  expect(gateway.filter((path) => path.startsWith('workers/'))).toEqual([]);
  const worker = [...reachableFrom('workers/main.ts')];
  expect(worker).toContain('workers/executor.ts');
  expect(worker.filter((path) => path.startsWith('src/http/') || path === 'src/gateway/app.ts')).toEqual([]);
});

test('jobs import neither http nor workers', () => {
  expect(
    imports(['jobs'], ['src/http', 'src/gateway/app.ts', 'src/gateway/open-gateway.ts', 'workers']),
  ).toEqual([]);
});

test('a contract imports only zod, pure code and the names of the pools', () => {
  const pure = [
    'src/operations',
    'src/products',
    'src/keywords',
    'src/platform/errors.ts',
    'src/platform/fingerprint.ts',
    'src/platform/json.ts',
    'src/operations/pools.ts',
  ];
  const loaded = new Set(
    FILES.filter(({ path }) => path.startsWith('src/operations/')).flatMap(({ path }) => [
      path,
      ...reachableFrom(path),
    ]),
  );
  const outside = [...loaded].filter(
    (path) => !pure.some((allowed) => path === allowed || path.startsWith(`${allowed}/`)),
  );
  expect(outside).toEqual([]);
  const packages = [...loaded].flatMap((path) =>
    (BY_PATH.get(path)?.packages ?? []).map((name) => `${path} -> ${name}`),
  );
  // What computes without touching the world outside.
  const computing = ['zod', 'node:crypto', 'safe-stable-stringify', 'lossless-json', 'stemmer'];
  expect(packages.filter((line) => !computing.includes(line.split(' -> ')[1] ?? ''))).toEqual([]);
});

test('billing, results and db import nothing above them', () => {
  const above = FILES.map(({ path }) => path).filter(
    (path) =>
      /^(src\/(http|start|embedded|upstream|operations)\/|workers\/|jobs\/)/.test(path) ||
      /^src\/(app|main|start|open-gateway|process|config)\.ts$/.test(path),
  );
  // The names of the pools are words, not machinery.
  above.splice(above.indexOf('src/operations/pools.ts'), 1);
  expect(above.length).toBeGreaterThan(50);
  expect(imports(['src/billing', 'src/results', 'src/db'], above)).toEqual([]);
});

test('upstream knows neither gateway, jobs, billing nor workers', () => {
  expect(imports(['src/upstream'], ['src/http', 'jobs', 'workers', 'src/billing', 'src/db'])).toEqual([]);
});

test('nothing imports the demo provider: it is a process of its own', () => {
  const outside = FILES.map(({ path }) => path).filter((path) => !path.startsWith('src/upstream/demo/'));
  expect(imports(outside, ['src/upstream/demo'])).toEqual([]);
});

test('nothing imports a program', () => {
  const programs = ['src/main.ts', 'src/start.ts', 'src/migrate.ts', 'workers/main.ts'];
  expect(imports(FOLDERS, programs)).toEqual([]);
});

test('one file of the gateway knows the SDK of the Model Context Protocol, and one of the command', () => {
  const knowing = FILES.filter(({ packages }) =>
    packages.some((name) => name.startsWith('@modelcontextprotocol/')),
  );
  expect(knowing.map(({ path }) => path)).toEqual(['src/cli/mcp-bridge.ts', 'src/api/mcp/protocol.ts']);
});

test('no file or folder is a bucket for anything', () => {
  const names = FILES.flatMap(({ path }) => path.split('/').map((part) => part.replace(/\.tsx?$/, '')));
  expect(names.filter((name) => /^(utils?|helpers?|commons?|types|misc|shared)$/.test(name))).toEqual([]);
});

test(`no file has more than ${LONGEST_FILE} lines`, () => {
  expect(FILES.filter(({ lines }) => lines > LONGEST_FILE).map(({ path }) => path)).toEqual([]);
});
