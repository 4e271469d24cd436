import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

export const run = promisify(execFile);

/** Returns the full path of a command on PATH, or null. */
export async function findCommand(name: string): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return null;
}

export async function hasCommand(name: string): Promise<boolean> {
  return (await findCommand(name)) !== null;
}

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * Returns whether to ignore PostgreSQL and Redis of the machine. `SOUK_IGNORE_SYSTEM=1` tests that Souk installs all it
 * needs, which servers of the machine would hide.
 */
export function systemIsIgnored(): boolean {
  return process.env.SOUK_IGNORE_SYSTEM === '1';
}
