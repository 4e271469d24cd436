import type { SpawnOptions } from 'node:child_process';
import { chown, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { run } from './commands.ts';

/** How a server is started so that it does not run as root. */
export interface RunAs {
  /** Turns a command line into the one to spawn. */
  wrap(commandLine: readonly string[]): string[];
  spawnOptions: Pick<SpawnOptions, 'uid' | 'gid'>;
  /** Hands a file or folder to the user the server runs as. */
  own(path: string): Promise<void>;
}

const asOurselves: RunAs = {
  wrap: (commandLine) => [...commandLine],
  spawnOptions: {},
  own: async () => {},
};

/**
 * PostgreSQL refuses to run as root. As an ordinary user we just run it; as root we run it as `nobody`. Where a
 * folder on the way is closed to `nobody` (a checkout below /root), a user namespace makes the server believe
 * that it is `nobody` while the kernel still sees root.
 */
export async function unprivileged(paths: readonly string[]): Promise<RunAs> {
  if (process.getuid?.() !== 0) return asOurselves;
  const uid = await idOf('-u', 'nobody');
  const gid = await idOf('-g', 'nobody');
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

/** Whether every folder above `path` lets any user pass. */
async function openToAll(path: string): Promise<boolean> {
  for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
