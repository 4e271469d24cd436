// Runs a program of the project in this process, so that signals reach it directly: node scripts/run.mjs FILE.ts [ARGUMENTS]
// Runs the compiled program if dist/ is up to date, otherwise the TypeScript source after installing missing packages.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiledFile } from './dist.mjs';
import { ensureInstalled, root } from './install.mjs';

const [file = '', ...args] = process.argv.slice(2);
const compiled = compiledFile(file);
const program = compiled ?? join(root, file);
process.argv = [process.execPath, program, ...args];
process.chdir(root);
if (compiled) {
  process.setSourceMapsEnabled(true);
} else {
  ensureInstalled();
  const { register } = await import('tsx/esm/api');
  register();
}
await import(pathToFileURL(program).href);
