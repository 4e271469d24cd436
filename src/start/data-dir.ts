import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../platform/embedded/commands.ts';

/**
 * Claims the folder for the life of this process, because two processes must not use the same databases.
 * @returns a function that releases the folder.
 */
export async function claimDataDir(dataDir: string): Promise<() => Promise<void>> {
  await mkdir(dataDir, { recursive: true, mode: 0o755 });
  const pidFile = join(dataDir, 'start.pid');
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (pid > 0 && pid !== process.pid && (await isSouk(pid))) {
    throw new Error(
      `Souk is already running on ${dataDir} (process ${pid}). Stop it, or set SOUK_DATA_DIR to another folder.`,
    );
  }
  await writeFile(pidFile, String(process.pid));
  return () => rm(pidFile, { force: true });
}

/** Returns whether a process is an `npm start`. The operating system reuses process ids, so the id alone is not enough. */
async function isSouk(pid: number): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'args=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.includes('run.mjs src/start.ts');
}
