// What `npm run build` compiles, and whether it has to be built again.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

/** Folders of TypeScript; files of other kinds in them are copied. */
export const SOURCES = ['src', 'jobs', 'workers', 'demo'];

/** What the programs read at run time beside them. */
export const COPIED = ['docs', 'package.json'];

/** The build writes it last. */
export const STAMP = 'package.json';

/** The compiled file of dist/ for a TypeScript file, or null when there is none or a source is newer. */
export function compiledFile(file) {
  const compiled = join(root, 'dist', file.replace(/\.tsx?$/, '.js'));
  if (!existsSync(compiled)) return null;
  // The image has no sources.
  if (!existsSync(join(root, file))) return compiled;
  const builtAt = statSync(join(root, 'dist', STAMP)).mtimeMs;
  return [...SOURCES, ...COPIED].some((path) => newestChange(join(root, path)) > builtAt) ? null : compiled;
}

/** Folders count as well: theirs is the only time that a removed file changes. */
function newestChange(path) {
  const entries = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : [];
  return Math.max(...['', ...entries].map((entry) => statSync(join(path, entry)).mtimeMs));
}
