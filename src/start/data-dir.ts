import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MINUTE_MS } from '../platform/durations.ts';
import { run } from '../platform/embedded/binaries.ts';

/** The right of one `npm start` to use a data folder. */
export interface DataDirClaim {
  /** Records a process that uses the folder. If this one is killed, the next start waits for the end of that process. */
  note(pid: number): void;
  /** Records that this start is stopping. Before this call, another start is refused; after it, another start waits for the end of this one. */
  stopping(): void;
  release(): Promise<void>;
}

/** The content of the file start.pid. */
interface Note {
  pid: number;
  stopping: boolean;
  /** Ids of the processes that this Souk has started. */
  started: number[];
}

/** A stopping Souk answers its last requests, and PostgreSQL writes a checkpoint. */
const WAIT_LIMIT_MS = MINUTE_MS;
const LOOK_EVERY_MS = 100;

/** The programs that an `npm start` runs. */
const START = /(run\.mjs src\/start\.ts|src\/start\.js)/;
const STARTED = /(demo|workers|src)\/main\.[jt]s|redis-server|setpriv|unshare/;

/**
 * Claims the folder for the life of this process, because two processes must not use the same databases. Waits for a Souk
 * that is stopping, and for the processes that a killed one has left.
 * @throws when a Souk is running on the folder.
 */
export async function claimDataDir(dataDir: string): Promise<DataDirClaim> {
  await mkdir(dataDir, { recursive: true, mode: 0o755 });
  const file = join(dataDir, 'start.pid');
  await previousEnd(file, dataDir);
  const note: Note = { pid: process.pid, stopping: false, started: [] };
  const write = () => writeFileSync(file, JSON.stringify(note));
  write();
  return {
    note(pid) {
      note.started.push(pid);
      write();
    },
    stopping() {
      note.stopping = true;
      write();
    },
    release: () => rm(file, { force: true }),
  };
}

async function previousEnd(file: string, dataDir: string): Promise<void> {
  const giveUpAt = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    const { pid, stopping, started } = await readNote(file);
    const isRunning = pid !== process.pid && (await runs(pid, START));
    const left = isRunning ? [pid] : await leftOf(started);
    if (left.length === 0) return;
    if ((isRunning && !stopping) || Date.now() > giveUpAt)
      throw new Error(
        `Souk is already running on ${dataDir} (process ${left.join(', ')}). Stop it, or set SOUK_DATA_DIR to another folder.`,
      );
    await pause(LOOK_EVERY_MS);
  }
}

async function readNote(file: string): Promise<Note> {
  const text = await readFile(file, 'utf8').catch(() => '0');
  try {
    const note = JSON.parse(text) as Note | number;
    // Earlier versions wrote the process id only.
    return typeof note === 'number' ? { pid: note, stopping: false, started: [] } : note;
  } catch {
    return { pid: 0, stopping: false, started: [] };
  }
}

async function leftOf(started: readonly number[]): Promise<number[]> {
  const left = await Promise.all(started.map((pid) => runs(pid, STARTED)));
  return started.filter((_, i) => left[i]);
}

/** Returns whether a process runs such a program. The operating system reuses process ids, so the id alone is not enough. */
async function runs(pid: number, program: RegExp): Promise<boolean> {
  if (pid <= 0) return false;
  const { stdout } = await run('ps', ['-o', 'args=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return program.test(stdout);
}

/** The embedded services of an `npm start`, with their addresses for the operator's command. */
export interface OwnServices {
  databaseUrl?: string;
  redisUrl?: string;
  keepa?: { url: string; key: string };
  /** The setting DEMO_DATA of the processes. */
  demoData?: string | undefined;
}

const fileIn = (dataDir: string) => join(dataDir, 'services.json');

/** Writes the services' addresses, with passwords, to a file for programs of the same user. @returns a function that removes it. */
export async function writeOwnServices(dataDir: string, services: OwnServices): Promise<() => Promise<void>> {
  const file = fileIn(dataDir);
  // Writing to a file that a killed run left would keep its mode.
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify({ pid: process.pid, ...services })}\n`, { mode: 0o600 });
  return () => rm(file, { force: true });
}

/** Returns the services of the `npm start` that uses this folder; none if it is not running. */
export async function findOwnServices(dataDir: string): Promise<OwnServices> {
  try {
    const { pid, ...services } = JSON.parse(await readFile(fileIn(dataDir), 'utf8')) as OwnServices & {
      pid: number;
    };
    process.kill(pid, 0);
    return services;
  } catch {
    return {};
  }
}

const FORM = /^[\w-]{16,100}$/;

/** Returns the folder's operator token, which the first start generates. Only the file's owner can read it. */
export async function ensureAdminToken(dataDir: string): Promise<string> {
  const file = join(dataDir, 'admin-token');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (FORM.test(kept)) return kept;
  const token = randomBytes(18).toString('base64url');
  // Writing to an existing file would keep its mode.
  await rm(file, { force: true });
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return token;
}
