// Runs a program of the project in this process, so that signals reach it directly: node scripts/run.mjs FILE.ts [ARGUMENTS]
// Programs of the service run from dist/, which is built first if a source is newer; scripts run as TypeScript.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiledFile, isBuilt, PROGRAMS } from './dist.mjs';
import { ensureInstalled, root } from './install.mjs';

const [file = '', ...args] = process.argv.slice(2);
const program = PROGRAMS.includes(file) ? await built(file) : await asTypeScript(file);
process.argv = [process.execPath, program, ...args];
process.chdir(root);
await import(pathToFileURL(program).href);

async function built(file) {
  if (!isBuilt()) {
    ensureInstalled();
    const { build } = await import('./build.mjs');
    await build(join(root, 'dist'));
  }
  process.setSourceMapsEnabled(true);
  return compiledFile(file);
}

async function asTypeScript(file) {
  ensureInstalled();
  const { register } = await import('tsx/esm/api');
  register();
  return join(root, file);
}
