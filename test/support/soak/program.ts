import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { ProcessMessage } from '../../../src/platform/process.ts';
import { NODE_OPTIONS } from '../../../src/platform/project.ts';

/** A process of the service, which may be killed and started again with the same settings. */
export interface Program {
  /** Its ready line. */
  ready: string;
  /** Id of the process that runs now. */
  pid(): number;
  /** Kills it with SIGKILL. Resolves when it has ended. */
  kill(): Promise<void>;
  /** Starts it again. Retries until the services that it needs have started as well. */
  restart(): Promise<void>;
  /** Stops it with SIGTERM. @returns its exit code; null after a signal. */
  stop(): Promise<number | null>;
}

const RESTARTS = 20;

/** A process that does not stop within this time is killed. */
const STOP_LIMIT_MS = 30_000;

/** @param onSurprise receives every unexpected end, with the last output of the process. */
export async function startProgram(options: {
  name: string;
  /** The compiled program. */
  file: string;
  env: Record<string, string>;
  logFile: string;
  onSurprise(sentence: string): void;
}): Promise<Program> {
  const { name, logFile, onSurprise } = options;
  let current: ChildProcess;
  let expected = false;

  async function launch(): Promise<string> {
    expected = false;
    const child = spawnProgram(options);
    current = child;
    const ready = await readiness(child);
    child.once('exit', (code, signal) => {
      if (expected) return;
      void lastWords(logFile).then((words) =>
        onSurprise(`The ${name} ended by itself (${signal ?? `code ${code}`}): ${words}`),
      );
    });
    return ready;
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    expected = true;
    if (current.exitCode !== null || current.signalCode !== null) return current.exitCode;
    const ended = new Promise((resolve) => current.once('exit', resolve));
    current.kill(signal);
    const insist = setTimeout(() => current.kill('SIGKILL'), STOP_LIMIT_MS);
    await ended;
    clearTimeout(insist);
    return current.exitCode;
  }

  const ready = await launch();
  return {
    ready,
    pid: () => current.pid ?? 0,
    async kill() {
      await end('SIGKILL');
    },
    async restart() {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await launch();
          return;
        } catch (error) {
          if (attempt === RESTARTS) throw error;
          await pause(250);
        }
      }
    },
    stop: () => end('SIGTERM'),
  };
}

/** Only these settings apply, not the environment of the soak run. */
function spawnProgram({
  file,
  env,
  logFile,
}: {
  file: string;
  env: Record<string, string>;
  logFile: string;
}) {
  const { PATH = '', HOME = '', LANG = '', LD_LIBRARY_PATH } = process.env;
  const base = { PATH, HOME, LANG, ...(LD_LIBRARY_PATH ? { LD_LIBRARY_PATH } : {}) };
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [...NODE_OPTIONS, file], {
    env: { ...base, NODE_ENV: 'production', ...env },
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  return child;
}

function readiness(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('message', (message: ProcessMessage) => {
      if ('ready' in message) resolve(message.ready);
      else reject(new Error(message.failed));
    });
    child.once('exit', () => reject(new Error('it ended while starting')));
    child.once('error', reject);
  });
}

async function lastWords(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.slice(-2_000);
}
