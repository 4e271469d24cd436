// The programs that `npm run build` compiles, and the builds of this checkout.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The programs that run as a process or thread of their own. */
export const PROGRAMS = [
  'src/main.ts',
  'src/start.ts',
  'src/migrate.ts',
  'src/cli.ts',
  'workers/main.ts',
  'workers/large-jobs/thread.ts',
  'src/site/customer/uploads/thread.ts',
  'src/batches/tables/table-program.ts',
  'demo/main.ts',
  'demo/reports/main.ts',
];

/** Folders of TypeScript; files of other kinds in them are copied. */
export const SOURCES = ['src', 'jobs', 'workers', 'demo'];

/** Files that the programs read at run time. */
export const COPIED = ['docs', 'package.json'];

/** Returns the compiled file of a program in the folder of a build. */
export function compiledFile(folder, program) {
  return join(folder, program.replace(/\.ts$/, '.js'));
}

/**
 * Returns the folder of the programs, compiled from the present sources. Each state of the sources has a folder of its own, which
 * no other build replaces, and which stays while a process uses it. The image has no sources, and its build in dist/.
 * @param compile compiles into a folder.
 */
export async function programsOf(checkout, compile) {
  if (!existsSync(join(checkout, 'src'))) return join(checkout, 'dist');
  const builds = join(checkout, '.souk', 'builds');
  const folder = join(builds, stateOf(checkout));
  if (!existsSync(folder)) {
    const unfinished = `${folder}.${process.pid}`;
    mkdirSync(builds, { recursive: true });
    await compile(unfinished);
    complete(unfinished, folder);
    removeUnused(builds, folder);
  }
  mkdirSync(usersOf(folder), { recursive: true });
  writeFileSync(join(usersOf(folder), String(process.pid)), '');
  return folder;
}

/** Names the state of everything that a build depends on, by path, size and time of each file. */
function stateOf(checkout) {
  const hash = createHash('sha256');
  for (const path of [...SOURCES, ...COPIED, 'package-lock.json', 'tsconfig.json', 'scripts']) {
    const top = join(checkout, path);
    if (!existsSync(top)) continue;
    const entries = statSync(top).isDirectory() ? readdirSync(top, { recursive: true }).map(String) : [''];
    for (const entry of entries.sort()) {
      const { size, mtimeMs } = statSync(join(top, entry));
      hash.update(`${path}/${entry} ${size} ${mtimeMs}\n`);
    }
  }
  return hash.digest('hex').slice(0, 16);
}

/** Gives a finished build its name. Another process may have built the same sources meanwhile; then its build is used. */
function complete(unfinished, folder) {
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

/** Removes builds of other sources that no running process uses. A build of the last minutes may be about to be used. */
function removeUnused(builds, current) {
  for (const name of readdirSync(builds)) {
    const folder = join(builds, name);
    if (folder === current || name.endsWith('.users')) continue;
    if (Date.now() - statSync(folder).mtimeMs < 10 * 60_000 || users(folder).some(isRunning)) continue;
    rmSync(folder, { recursive: true, force: true });
    rmSync(usersOf(folder), { recursive: true, force: true });
  }
}

/** The folder with a file for each process that has used a build. */
function usersOf(folder) {
  return `${folder}.users`;
}

function users(folder) {
  return existsSync(usersOf(folder)) ? readdirSync(usersOf(folder)).map(Number) : [];
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
