// `npm run bench [GROUP ...]`: compiles the programs and the benchmark, as production runs them, and starts it.
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = dirname(import.meta.dirname);

const { build } = await import('./build.mjs');
const files = readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.ts'));
const folder = join(root, '.souk', 'bench');
const compiled = files.map((name) => `bench/${name}`);
await build(folder, compiled);
process.chdir(root);
process.setSourceMapsEnabled(true);
await import(pathToFileURL(join(folder, 'bench', 'main.js')).href);
