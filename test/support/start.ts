import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, inject } from 'vitest';
import { isAlive, processesWith } from './processes.ts';

/** A folder for SOUK_DATA_DIR, with the tools of this checkout so that nothing is fetched. */
export async function createDataDir(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'souk-start-'));
  await chmod(path, 0o755);
  await symlink(resolve('.souk/tools'), join(path, 'tools'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A run of `npm start`'s program. */
export interface Start {
  pid: number;
  /** The output so far, of both streams. */
  said(): string;
  /** Waits for a line; rejects when the program ends first. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  /** The services it has started, by name. */
  children(): Promise<Record<string, number>>;
  /** Resolves with the exit code, or null after a signal. */
  ended: Promise<number | null>;
  /** Sends a signal to the whole process group, as Ctrl-C does. */
  interrupt(): void;
  kill(): void;
}

const PROGRAM = {
  compiled: () => [join(inject('programs'), 'src/start.js')],
  checkout: () => ['scripts/run.mjs', 'src/start.ts'],
};

const PROGRAMS: Record<string, RegExp> = {
  postgres: /bin\/postgres\b.* -D /,
  redis: /redis-server/,
  demo: /demo\/main\.[jt]s/,
  worker: /workers\/main\.[jt]s/,
  gateway: /src\/main\.[jt]s/,
};

/**
 * @param env settings; those of this test run's own environment do not count.
 * @param program the compiled one, or that of a fresh checkout.
 */
export function start(env: Record<string, string>, program: 'compiled' | 'checkout' = 'compiled'): Start {
  const { PATH = '', HOME = '', LANG = '', LD_LIBRARY_PATH } = process.env;
  const base = { PATH, HOME, LANG, ...(LD_LIBRARY_PATH ? { LD_LIBRARY_PATH } : {}) };
  const child: ChildProcess = spawn(process.execPath, PROGRAM[program](), {
    cwd: resolve('.'),
    env: { ...base, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  let hasEnded = false;
  const ended = new Promise<number | null>((done) => {
    child.once('close', (code) => {
      hasEnded = true;
      done(code);
    });
  });
  const { pid } = child;
  if (!pid) throw new Error('The program did not start.');
  return {
    pid,
    said: () => said,
    async line(pattern) {
      let found: RegExpExecArray | null = null;
      await expect
        .poll(
          () => {
            found = pattern.exec(said);
            return found !== null || hasEnded;
          },
          { timeout: 240_000 },
        )
        .toBe(true);
      if (found === null) throw new Error(`It ended without saying ${pattern}:\n${said}`);
      return found;
    },
    async children() {
      const own = (await processesWith('')).filter(({ parent }) => parent === pid);
      return Object.fromEntries(
        own.flatMap((process) => {
          const program = Object.entries(PROGRAMS).find(([, pattern]) => pattern.test(process.text));
          return program ? [[program[0], process.pid]] : [];
        }),
      );
    },
    ended,
    interrupt: () => void process.kill(-pid, 'SIGINT'),
    kill: () => void (isAlive(pid) && process.kill(pid, 'SIGKILL')),
  };
}
