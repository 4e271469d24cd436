// `npm run build` in this folder: writes the package to dist/. Both forms of the library have the same type declarations.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as compile } from 'esbuild';

const folder = dirname(fileURLToPath(import.meta.url));
const OPTIONS = { bundle: true, minify: true, target: 'es2022', logLevel: 'warning' };

/** Builds the package into `dist`. */
export async function build(dist = join(folder, 'dist')) {
  rmSync(dist, { recursive: true, force: true });
  const library = { ...OPTIONS, entryPoints: [join(folder, 'src/index.ts')] };
  await Promise.all([
    compile({ ...library, format: 'esm', outfile: join(dist, 'esm/index.js') }),
    compile({ ...library, format: 'cjs', outfile: join(dist, 'cjs/index.js') }),
    compile({
      ...OPTIONS,
      entryPoints: [join(folder, 'src/command/main.ts')],
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      outfile: join(dist, 'command/souk-client.cjs'),
      banner: { js: '#!/usr/bin/env node' },
    }),
  ]);
  declareTypes(join(dist, 'esm'));
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n');
  for (const name of declarations(join(dist, 'esm'))) {
    mkdirSync(dirname(join(dist, 'cjs', name)), { recursive: true });
    cpSync(join(dist, 'esm', name), join(dist, 'cjs', name));
  }
}

/** Writes the type declarations; their imports name JavaScript files, as TypeScript expects in packages. */
function declareTypes(outDir) {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '--project', folder, '--outDir', outDir], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stdout);
  for (const name of declarations(outDir)) {
    const text = readFileSync(join(outDir, name), 'utf8');
    writeFileSync(join(outDir, name), text.replace(/(from '\.[^']*)\.ts'/g, "$1.js'"));
  }
}

function declarations(outDir) {
  return readdirSync(outDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
