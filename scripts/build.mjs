// `npm run build [FOLDER]`: bundles the programs with their packages to JavaScript in dist/, with source maps, because importing
// thousands of files takes seconds. Next to them are the files that they read, at the same paths as in the project.
import { cpSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { COPIED, PROGRAMS, programsOf, SOURCES } from './dist.mjs';

const root = dirname(import.meta.dirname);

/** Packages that have native code, read files of their own, or import CommonJS on demand. They stay in node_modules. */
const NOT_BUNDLED = [
  'sharp',
  '@node-rs/argon2',
  '@bull-board/*',
  '@fastify/cookie',
  '@opentelemetry/resources',
  'msgpackr',
  'pg-native',
  'playwright-core',
];

/** Globals that CommonJS packages expect. */
const COMMON_JS = `import { createRequire as createCommonRequire } from 'node:module';
const require = createCommonRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;`;

/** Returns the folder of the programs, and compiles them first if a source has changed. */
export function buildPrograms() {
  return programsOf(root, build);
}

/** Compiles into a folder and replaces what is in it. @param files further files that are loaded by their names. */
export async function build(folder, files = []) {
  const { build: compile } = await import('esbuild');
  rmSync(folder, { recursive: true, force: true });
  await compile({
    entryPoints: [...PROGRAMS, ...files].map((file) => join(root, file)),
    outdir: folder,
    outbase: root,
    tsconfig: join(root, 'tsconfig.json'),
    bundle: true,
    // Code that several programs share is in one file, and code that a program imports on demand in another.
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    external: NOT_BUNDLED,
    banner: { js: COMMON_JS },
    format: 'esm',
    platform: 'node',
    target: 'node24',
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
  });
  for (const path of [...SOURCES, ...COPIED]) {
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: isCopied });
  }
}

/** @returns false for TypeScript and for the scripts (.mjs) that start it. */
function isCopied(path) {
  return statSync(path).isDirectory() || !/\.(tsx?|mjs)$/.test(path);
}

if (process.argv[1]?.endsWith('build.mjs')) {
  await build(resolve(process.argv[2] ?? join(root, 'dist')));
}
