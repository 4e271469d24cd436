import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';
/** A whole run takes about a tenth of it. */
const ROOM_BYTES = 4 * 2 ** 30;

/**
 * The folder for temporary files of a run: in memory, where there is room and programs can run, because a disk takes up to
 * fifteen times the processor time to create the files of a database, of which a run makes hundreds.
 */
export function temporaryFolder(): string {
  if (process.env.TMPDIR) return process.env.TMPDIR;
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize >= ROOM_BYTES && !isClosedToPrograms(MEMORY)) return MEMORY;
  } catch {
    // Not a Linux machine.
  }
  return tmpdir();
}

function isClosedToPrograms(mountPoint: string): boolean {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts.some((line) => {
    const [, point, , options = ''] = line.split(' ');
    return point === mountPoint && options.split(',').includes('noexec');
  });
}
