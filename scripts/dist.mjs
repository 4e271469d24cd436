// The sources of `npm run build`, and a check whether dist/ is up to date.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

/** Folders of TypeScript; files of other kinds in them are copied. */
export const SOURCES = ['src', 'jobs', 'workers', 'demo'];

/** Files that the programs read at run time. */
export const COPIED = ['docs', 'package.json'];

/** The last file that the build writes. */
export const STAMP = 'package.json';

/** Returns the compiled file of a TypeScript file, or null if there is none or a source is newer. */
export function compiledFile(file) {
  const compiled = join(root, 'dist', file.replace(/\.tsx?$/, '.js'));
  if (!existsSync(compiled)) return null;
  // The image has no sources.
  if (!existsSync(join(root, file))) return compiled;
  const builtAt = statSync(join(root, 'dist', STAMP)).mtimeMs;
  return [...SOURCES, ...COPIED].some((path) => newestChange(join(root, path)) > builtAt) ? null : compiled;
}

/** Includes folders, because removing a file changes only the time of its folder. */
function newestChange(path) {
  const entries = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : [];
  return Math.max(...['', ...entries].map((entry) => statSync(join(path, entry)).mtimeMs));
}
