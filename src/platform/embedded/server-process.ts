import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { chown, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { hasCommand, run } from './binaries.ts';

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

/** A server that this process started, and that only this process may stop. */
export interface ServerProcess {
  readonly pid: number;
  /** Settles when the server has ended for any reason. */
  readonly ended: Promise<void>;
  /** Sends `signal`, after ten seconds SIGKILL, and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

interface ServerOptions {
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
export async function spawnServer(options: ServerOptions): Promise<ServerProcess> {
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

/** An embedded server that answers. */
export interface EmbeddedServer {
  /** Address on 127.0.0.1 and a random port, password included. */
  url: string;
  readonly pid: number;
  /** Settles when the server has ended for any reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Waits until `probe` succeeds. @throws a sentence for the user of the terminal if the server ends first.
 * @param about.signal stops the server in order.
 */
export async function untilReady(
  server: ServerProcess,
  about: { name: string; url: string; signal: NodeJS.Signals; logFile: string },
  probe: () => Promise<void>,
): Promise<EmbeddedServer> {
  const { name, url, signal, logFile } = about;
  const { pid, ended } = server;
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  const giveUpAt = Date.now() + 30_000;
  for (;;) {
    try {
      await probe();
      return { url, pid, ended, stop: () => server.stop(signal) };
    } catch (error) {
      if (hasEnded || Date.now() > giveUpAt) {
        await server.stop(signal);
        throw new Error(`The embedded ${name} did not start (${(error as Error).message}); see ${logFile}`);
      }
      await pause(25);
    }
  }
}

const MOST_LAUNCHES = 5;

/**
 * Launches a server at the address of an earlier start, or on a free port. Between its choice and the launch another program may
 * take a port, for a connection too; then the next one is tried.
 */
export async function onPort<T>(url: string | undefined, launch: (port: number) => Promise<T>): Promise<T> {
  if (url) return launch(Number(new URL(url).port));
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return await launch(port);
    } catch (error) {
      if (attempt === MOST_LAUNCHES || (await isFree(port))) throw error;
    }
  }
}

function isFree(port: number): Promise<boolean> {
  return freePort(port).then(
    () => true,
    () => false,
  );
}

/** A TCP port of 127.0.0.1 that was free a moment ago. @param port a certain one; rejects if it is in use. */
export function freePort(port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(port, '127.0.0.1', () => {
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

/** Servers that have not ended. This process may exit while one starts, before the kernel knows to stop it as well. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGINT');
});

function supervise(child: ChildProcess): ServerProcess {
  running.add(child);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      running.delete(child);
      resolve();
    });
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
