// `npm run build [FOLDER]`: compiles the programs to JavaScript in dist/, one file for each source file, with source maps.
// The folder structure is kept, because files find migrations, assets and guides by relative paths.
import { cpSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { COPIED, SOURCES, STAMP } from './dist.mjs';
import { ensureInstalled, root } from './install.mjs';

/** Keeps all imports: those of packages unchanged, those of source files with the extension they have in dist/. */
const keepImports = {
  name: 'keep-imports',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ kind, path }) =>
      kind === 'entry-point'
        ? undefined
        : { path: path.startsWith('.') ? path.replace(/\.tsx?$/, '.js') : path, external: true },
    );
  },
};

/** Compiles into the folder `target` and replaces its content. */
export async function build(target) {
  const { build: compile } = await import('esbuild');
  const startedAt = new Date();
  rmSync(target, { recursive: true, force: true });
  await compile({
    entryPoints: SOURCES.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true })
        .filter((name) => isTypeScript(name))
        .map((name) => join(root, folder, name)),
    ),
    outdir: target,
    outbase: root,
    tsconfig: join(root, 'tsconfig.json'),
    bundle: true,
    plugins: [keepImports],
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    logLevel: 'warning',
  });
  for (const path of [...SOURCES, ...COPIED]) {
    cpSync(join(root, path), join(target, path), { recursive: true, filter: isCopied });
  }
  // A source that changed during the build is newer than the build.
  utimesSync(join(target, STAMP), startedAt, startedAt);
}

function isTypeScript(name) {
  return /\.tsx?$/.test(name);
}

/** @returns false for TypeScript and for the scripts (.mjs) that start it. */
function isCopied(path) {
  return statSync(path).isDirectory() || !/\.(tsx?|mjs)$/.test(path);
}

if (process.argv[1]?.endsWith('build.mjs')) {
  ensureInstalled();
  await build(resolve(process.argv[2] ?? join(root, 'dist')));
}
