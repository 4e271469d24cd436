// Runs a program of the project in this process, so that signals reach it directly: node scripts/run.mjs FILE.ts [ARGUMENTS]
// Programs of the service are compiled first if a source has changed; scripts run as TypeScript.
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiledFile, PROGRAMS, programsOf } from './dist.mjs';

const root = dirname(import.meta.dirname);

const [file = '', ...args] = process.argv.slice(2);
const program = PROGRAMS.includes(file) ? await built(file) : await asTypeScript(file);
process.argv = [process.execPath, program, ...args];
process.chdir(root);
await import(pathToFileURL(program).href);

async function built(file) {
  const folder = await programsOf(root, async (target) => (await import('./build.mjs')).build(target));
  process.setSourceMapsEnabled(true);
  return compiledFile(folder, file);
}

async function asTypeScript(file) {
  const { register } = await import('tsx/esm/api');
  register();
  return join(root, file);
}
