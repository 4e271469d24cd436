import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const LONGEST_FILE = 400;

/**
 * The rooms of the project, in order: a file imports only from its own room and from the rooms above it in this list. Type
 * imports count. A room is a folder, or the files that are named.
 */
const ROOMS = [
  ['platform', 'src/platform'],
  ['operations', 'src/operations'],
  ['charts', 'src/charts'],
  ['accounts', 'src/accounts'],
  ['billing', 'src/billing'],
  ['outbox', 'src/outbox'],
  ['results', 'src/results'],
  ['upstream', 'src/upstream'],
  ['brand-analytics', 'src/brand-analytics'],
  ['jobs', 'jobs'],
  ['batches', 'src/batches'],
  ['operator', 'src/operator'],
  ['workers', 'workers'],
  ['api', 'src/api'],
  ['site', 'src/site'],
  ['gateway', 'src/gateway'],
  ['config', 'src/config'],
  ['start', 'src/start'],
  ['cli', 'src/cli'],
  ['demo-pictures', 'demo/pictures', 'demo/catalog/categories.ts'],
  ['programs', 'src/main.ts', 'src/start.ts', 'src/migrate.ts', 'src/cli.ts', 'workers/main.ts'],
] as const satisfies readonly (readonly [string, ...string[]])[];

/** A separate program: a server that speaks the protocols of the upstreams. It imports only these rooms. */
const DEMO = { room: 'demo', mayImport: ['demo', 'platform', 'operations', 'demo-pictures'] };

/** Rooms that never load each other, although the order allows it. */
const APART: readonly (readonly [string, string])[] = [
  ['api', 'workers'],
  ['site', 'workers'],
  ['gateway', 'workers'],
];

interface SourceFile {
  path: string;
  room: string | undefined;
  lines: number;
  /** Files of the project it imports, by path from the root. */
  files: string[];
  /** Packages and built-in modules it imports. */
  packages: string[];
}

/** The client is a package of its own, which a developer installs without the service. Its generated files may be long. */
const CLIENT = 'clients/typescript/src';

/** `import ... from 'x'`, `export ... from 'x'`, `import 'x'`, `import('x')`. */
const SPECIFIER = /(?:^\s*(?:import|export)\b[^'";]*?\bfrom\s*|^\s*import\s*|\bimport\s*\(\s*)'([^']+)'/gm;

const filesIn = (folder: string): SourceFile[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => read(join(folder, name)));

const FILES: readonly SourceFile[] = ['src', 'jobs', 'workers', 'demo'].flatMap(filesIn);
const BY_PATH = new Map(FILES.map((file) => [file.path, file]));

/** The room with the longest path that contains the file: `workers/main.ts` is a program, the rest of `workers/` is not. */
function roomOf(path: string): string | undefined {
  const rooms = [...ROOMS, [DEMO.room, DEMO.room] as const].flatMap(([name, ...places]) =>
    places
      .filter((place) => path === place || path.startsWith(`${place}/`))
      .map((place) => ({ name, place })),
  );
  return rooms.sort((a, b) => b.place.length - a.place.length)[0]?.name;
}

function read(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const specifiers = [...text.matchAll(SPECIFIER)].map(([, specifier = '']) => specifier);
  return {
    path,
    room: roomOf(path),
    lines: text.trimEnd().split('\n').length,
    files: specifiers
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => relative(ROOT, resolve(ROOT, dirname(path), specifier))),
    packages: specifiers.filter((specifier) => !specifier.startsWith('.')),
  };
}

/** Every import from one room into another, as `importer -> imported`. */
function arrows(): { from: string; to: string; line: string }[] {
  return FILES.flatMap(({ path, room: from = '', files }) =>
    files
      .map((file) => ({ from, to: roomOf(file) ?? '', line: `${path} -> ${file}` }))
      .filter(({ to }) => to !== from),
  );
}

/** Every file of the project that is loaded with this one. */
function reachableFrom(path: string, seen = new Set<string>()): Set<string> {
  for (const file of BY_PATH.get(path)?.files ?? []) {
    if (seen.has(file)) continue;
    seen.add(file);
    reachableFrom(file, seen);
  }
  return seen;
}

/** A path along the arrows that returns to where it began, if there is one. */
function findCycle(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const done = new Set<string>();
  function visit(room: string, trail: readonly string[]): string[] | null {
    if (trail.includes(room)) return [...trail.slice(trail.indexOf(room)), room];
    if (done.has(room)) return null;
    for (const next of edges.get(room) ?? []) {
      const cycle = visit(next, [...trail, room]);
      if (cycle) return cycle;
    }
    done.add(room);
    return null;
  }
  for (const room of edges.keys()) {
    const cycle = visit(room, []);
    if (cycle) return cycle;
  }
  return null;
}

describe('rooms', () => {
  test('every file is in a room of the list', () => {
    expect(FILES.length).toBeGreaterThan(100);
    expect(FILES.filter(({ room }) => room === undefined).map(({ path }) => path)).toEqual([]);
  });

  test('every room of the list has files', () => {
    const names = [...ROOMS.map(([name]) => name), DEMO.room];
    expect(names.filter((name) => !FILES.some(({ room }) => room === name))).toEqual([]);
  });

  test('every import leads to a file of the list', () => {
    const unknown = FILES.flatMap(({ path, files }) =>
      files
        .filter((file) => !BY_PATH.has(file) && !/\.(json|m?js)$/.test(file))
        .map((file) => `${path} -> ${file}`),
    );
    expect(unknown).toEqual([]);
    // The rules below mean nothing if imports are overlooked.
    expect(arrows().length).toBeGreaterThan(500);
  });

  test('a file imports only from its own room and the rooms before it', () => {
    const order: readonly string[] = ROOMS.map(([name]) => name);
    const wrong = arrows().filter(({ from, to }) =>
      from === DEMO.room
        ? !DEMO.mayImport.includes(to)
        : !(order.indexOf(to) >= 0 && order.indexOf(to) < order.indexOf(from)),
    );
    expect(wrong.map(({ line }) => line)).toEqual([]);
  });

  test('no rooms import each other in a cycle', () => {
    const rooms = new Map<string, Set<string>>();
    for (const { from, to } of arrows()) rooms.set(from, (rooms.get(from) ?? new Set()).add(to));
    expect(findCycle(rooms)).toBeNull();
  });

  test('the search for cycles finds a cycle', () => {
    const edges = { a: ['b'], b: ['c', 'd'], d: ['a'] };
    expect(findCycle(new Map(Object.entries(edges).map(([from, to]) => [from, new Set(to)])))).toEqual([
      'a',
      'b',
      'd',
      'a',
    ]);
  });

  test.each(APART)('%s and %s never import each other', (one, other) => {
    const wrong = arrows().filter(
      ({ from, to }) => (from === one && to === other) || (from === other && to === one),
    );
    expect(wrong.map(({ line }) => line)).toEqual([]);
  });
});

test('the client imports only its own files, and the service none of them', () => {
  const own = filesIn(CLIENT);
  const outside = own.flatMap(({ path, files }) =>
    files.filter((file) => !file.startsWith(`${CLIENT}/`)).map((file) => `${path} -> ${file}`),
  );
  expect(outside).toEqual([]);
  expect(FILES.filter(({ files }) => files.some((file) => file.startsWith('clients/')))).toEqual([]);
  const written = own.filter(({ path }) => !path.startsWith(`${CLIENT}/generated/`));
  expect(written.filter(({ lines }) => lines > LONGEST_FILE).map(({ path }) => path)).toEqual([]);
  // The rules mean nothing if files are overlooked.
  expect(written.length).toBeGreaterThan(15);
});

describe('programs', () => {
  const roomsLoadedBy = (path: string) => new Set([...reachableFrom(path)].map(roomOf));

  test('a gateway loads no worker', () => {
    expect(roomsLoadedBy('src/main.ts')).toContain('api');
    expect(roomsLoadedBy('src/main.ts')).not.toContain('workers');
  });

  test('a worker loads no gateway', () => {
    expect(roomsLoadedBy('workers/main.ts')).toContain('workers');
    for (const room of ['api', 'site', 'gateway'])
      expect(roomsLoadedBy('workers/main.ts')).not.toContain(room);
  });

  test('nothing imports a program', () => {
    expect(arrows().filter(({ to }) => to === 'programs')).toEqual([]);
  });
});

describe('packages', () => {
  /** `@scope/name/path` -> `@scope/name`. */
  const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '';

  test('operations import only packages without I/O', () => {
    const loaded = new Set(
      FILES.filter(({ room }) => room === 'operations').flatMap(({ path }) => [path, ...reachableFrom(path)]),
    );
    const packages = [...loaded].flatMap((path) =>
      (BY_PATH.get(path)?.packages ?? []).map((name) => ({ path, name })),
    );
    const computing = ['zod', 'd3-array', 'node:crypto', 'safe-stable-stringify', 'stemmer'];
    expect(packages.filter(({ name }) => !computing.includes(name))).toEqual([]);
  });

  test('programs need no development dependency', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const wrong = FILES.flatMap(({ path, packages }) =>
      packages
        .filter((name) => !isBuiltin(name) && !(packageOf(name) in dependencies))
        .map((name) => `${path} -> ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  test('one file of the gateway uses the SDK of the Model Context Protocol, and one of the command', () => {
    const users = FILES.filter(({ packages }) =>
      packages.some((name) => name.startsWith('@modelcontextprotocol/')),
    );
    expect(users.map(({ path }) => path).sort()).toEqual([
      'src/api/mcp/protocol.ts',
      'src/cli/commands/mcp.ts',
    ]);
  });
});

describe('files', () => {
  test('no file or folder is named utils, helpers, common or types', () => {
    const names = FILES.flatMap(({ path }) => path.split('/').map((part) => part.replace(/\.tsx?$/, '')));
    expect(names.filter((name) => /^(utils?|helpers?|commons?|types|misc|shared)$/.test(name))).toEqual([]);
  });

  test(`no file has more than ${LONGEST_FILE} lines`, () => {
    expect(FILES.filter(({ lines }) => lines > LONGEST_FILE).map(({ path }) => path)).toEqual([]);
  });
});
