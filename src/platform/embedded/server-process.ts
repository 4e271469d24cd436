import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { hasCommand } from './commands.ts';
import type { RunAs } from './run-as.ts';

/** A server that this process started, and that only this process may stop. */
export interface ServerProcess {
  readonly pid: number;
  /** Settles when the server has ended for any reason. */
  readonly ended: Promise<void>;
  /** Sends `signal`, after ten seconds SIGKILL, and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

export interface SpawnOptions {
  command: string;
  args: readonly string[];
  runAs: RunAs;
  /** Both output streams are appended here. */
  logFile: string;
  /** Text for standard input, which is then closed. Keeps secrets out of the process list. */
  stdin?: string;
  env?: NodeJS.ProcessEnv;
}

/**
 * Starts a server in its own session, so that Ctrl-C in the terminal reaches only this process, which stops its servers
 * in order. With `setpriv` the kernel also stops the server when this process is killed.
 */
export async function spawnServer(options: SpawnOptions): Promise<ServerProcess> {
  const dieWithParent = (await hasCommand('setpriv')) ? ['setpriv', '--pdeathsig', 'INT'] : [];
  const [command = options.command, ...args] = options.runAs.wrap([
    ...dieWithParent,
    options.command,
    ...options.args,
  ]);
  const log = openSync(options.logFile, 'a', 0o600);
  const child = spawn(command, args, {
    detached: true,
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', log, log],
    ...options.runAs.spawnOptions,
    ...(options.env ? { env: options.env } : {}),
  });
  closeSync(log);
  // Ctrl-C before the new process has its own session ends it; callers notice this through `ended`.
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.stdin);
  await spawned(child, command);
  return supervise(child);
}

/** Waits until `probe` succeeds; fails at once when the server ends first. */
export async function waitUntilReady(server: ServerProcess, probe: () => Promise<void>): Promise<void> {
  let ended = false;
  void server.ended.then(() => {
    ended = true;
  });
  const giveUpAt = Date.now() + 30_000;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (ended || Date.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

/** A TCP port of 127.0.0.1 that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

function spawned(child: ChildProcess, command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(new Error(`${command} could not be started: ${error.message}`)));
  });
}

function supervise(child: ChildProcess): ServerProcess {
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  return {
    pid: child.pid ?? 0,
    ended,
    async stop(signal) {
      child.kill(signal);
      // A stopped process receives the signal when it continues.
      child.kill('SIGCONT');
      const insist = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(insist);
    },
  };
}
