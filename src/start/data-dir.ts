import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../platform/embedded/commands.ts';

/**
 * Makes the folder ours for as long as this process lives: two Souks on one folder would fight over its databases.
 * @returns what gives it back.
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

/** The operating system reuses process ids; only a process that looks like `npm start` counts. */
async function isSouk(pid: number): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'args=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.includes('run.mjs src/start.ts');
}
