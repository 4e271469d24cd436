import type { SpawnOptions } from 'node:child_process';
import { chown, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { run } from './commands.ts';

/** Starts a server without root rights. */
export interface RunAs {
  /** Returns the command line to spawn. */
  wrap(commandLine: readonly string[]): string[];
  spawnOptions: Pick<SpawnOptions, 'uid' | 'gid'>;
  /** Makes the server's user the owner of a file or folder. */
  own(path: string): Promise<void>;
}

const asOurselves: RunAs = {
  wrap: (commandLine) => [...commandLine],
  spawnOptions: {},
  own: async () => {},
};

const UNPRIVILEGED_USER = 'nobody'; // plain-english: allow

/**
 * PostgreSQL refuses to run as root, so root runs it as an unprivileged user. If that user cannot access a folder in a
 * path, such as /root, a user namespace shows the server that user while the kernel still sees root.
 */
export async function unprivileged(paths: readonly string[]): Promise<RunAs> {
  if (process.getuid?.() !== 0) return asOurselves;
  const uid = await idOf('-u', UNPRIVILEGED_USER);
  const gid = await idOf('-g', UNPRIVILEGED_USER);
  const reachable = (await Promise.all(paths.map(openToAll))).every(Boolean);
  if (!reachable) {
    return {
      wrap: (commandLine) => ['unshare', '-U', `--map-user=${uid}`, `--map-group=${gid}`, ...commandLine],
      spawnOptions: {},
      own: async () => {},
    };
  }
  return {
    wrap: (commandLine) => [...commandLine],
    spawnOptions: { uid, gid },
    own: (path) => chown(path, uid, gid),
  };
}

async function idOf(flag: '-u' | '-g', user: string): Promise<number> {
  const { stdout } = await run('id', [flag, user]);
  return Number(stdout.trim());
}

/** Returns whether any user may enter every folder above `path`. */
async function openToAll(path: string): Promise<boolean> {
  for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
