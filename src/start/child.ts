import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { ProcessMessage } from '../platform/process.ts';
import { programArguments } from '../platform/project.ts';

interface Child {
  /** The line that it reports when it is ready. Rejects with the message of a process that fails to start. */
  ready: Promise<string>;
  /** Stops the process, whether it is ready or not. */
  stop(): Promise<void>;
}

/** The pause before a process is started again if it ended soon after its start. */
const RESTART_DELAY_MS = 1_000;
const SOON_MS = 10_000;

/**
 * Runs one of Souk's processes (see runProcess) in its own session, so that Ctrl-C reaches only this process. It stops
 * when this process ends, because its channel closes. If it ends by itself after it was ready, it is started again.
 */
export function startChild(options: {
  name: string;
  /** Its TypeScript file. */
  file: string;
  env: NodeJS.ProcessEnv;
  logFile: string;
  say(line: string): void;
  onLaunch(pid: number): void;
}): Child {
  const { name, say } = options;
  let stopping = false;
  let hasBeenReady = false;
  let restart: NodeJS.Timeout | undefined;
  let current = launch(options);
  const ready = readiness(current, options);
  ready.then(supervise, () => {});

  function supervise(): void {
    hasBeenReady = true;
    const startedAt = Date.now();
    current.once('exit', (code, signal) => {
      if (stopping) return;
      say(`The ${name} process ended (${signal ?? `code ${code}`}); starting it again.`);
      restart = setTimeout(
        () => {
          current = launch(options);
          readiness(current, options).catch((error: Error) => say(error.message));
          supervise();
        },
        Date.now() - startedAt < SOON_MS ? RESTART_DELAY_MS : 0,
      );
    });
  }

  return {
    ready,
    async stop() {
      stopping = true;
      clearTimeout(restart);
      if (current.exitCode !== null || current.signalCode !== null) return;
      const ended = new Promise<number | null>((resolve) => current.once('exit', resolve));
      current.kill('SIGTERM');
      const code = await ended;
      // One that has not been ready has nothing to end in order.
      if (code && hasBeenReady) say(`The ${name} process did not stop cleanly; see ${options.logFile}.`);
    },
  };
}

function launch({
  file,
  env,
  logFile,
  onLaunch,
}: {
  /** Its TypeScript file. */
  file: string;
  env: NodeJS.ProcessEnv;
  logFile: string;
  onLaunch(pid: number): void;
}): ChildProcess {
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, programArguments(file), {
    env,
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  if (child.pid !== undefined) onLaunch(child.pid);
  return child;
}

function readiness(child: ChildProcess, { name, logFile }: { name: string; logFile: string }) {
  return new Promise<string>((resolve, reject) => {
    child.once('message', (message: ProcessMessage) => {
      if ('ready' in message) resolve(message.ready);
      else reject(new Error(`The ${name} cannot start: ${message.failed}`));
    });
    child.once('exit', () => reject(new Error(`The ${name} ended during its start; see ${logFile}`)));
    child.once('error', reject);
  });
}
