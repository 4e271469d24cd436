// The programs that `npm run build` compiles, and a check whether dist/ is up to date.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

/** The programs that run as a process or thread of their own. */
export const PROGRAMS = [
  'src/main.ts',
  'src/start.ts',
  'src/migrate.ts',
  'src/cli.ts',
  'src/brand-analytics/import/reader-thread.ts',
  'workers/main.ts',
  'workers/large-jobs/thread.ts',
  'demo/main.ts',
  'demo/reports/main.ts',
];

/** Folders of TypeScript; files of other kinds in them are copied. */
export const SOURCES = ['src', 'jobs', 'workers', 'demo'];

/** Files that the programs read at run time. */
export const COPIED = ['docs', 'package.json'];

/** The last file that the build writes. */
export const STAMP = 'package.json';

/** Returns the compiled file of a program. */
export function compiledFile(program) {
  return join(root, 'dist', program.replace(/\.ts$/, '.js'));
}

/** Returns whether dist/ is newer than all sources. The image has no sources. */
export function isBuilt() {
  const stamp = join(root, 'dist', STAMP);
  if (!existsSync(stamp) || !existsSync(join(root, 'node_modules'))) return false;
  const builtAt = statSync(stamp).mtimeMs;
  return [...SOURCES, ...COPIED, 'package-lock.json', 'scripts']
    .filter((path) => existsSync(join(root, path)))
    .every((path) => newestChange(join(root, path)) <= builtAt);
}

/** Includes folders, because removing a file changes only the time of its folder. */
function newestChange(path) {
  const entries = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : [];
  return Math.max(...['', ...entries].map((entry) => statSync(join(path, entry)).mtimeMs));
}
