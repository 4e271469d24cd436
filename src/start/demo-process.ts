import { spawn } from 'node:child_process';
import type { ProcessMessage } from '../platform/process.ts';
import { programArguments } from '../platform/project.ts';

/** Test calls never wait for tokens, and a list of lightning deals is short, because each call parses all of it. */
const SETTINGS = { DEMO_TOKENS_PER_MINUTE: '1000000', DEMO_LIGHTNING_DEALS: '500' };

/** A demo provider in a process of its own. */
interface DemoProcess {
  url: string;
  pid: number;
  /** Resolves when the process has ended, even if it has crashed. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a demo provider on a free port of this machine. It receives no settings of this process, and so no secrets, and stops when
 * this process ends.
 */
export async function startDemoProcess(): Promise<DemoProcess> {
  const { PATH, NODE_ENV } = process.env;
  const child = spawn(process.execPath, programArguments('demo/main.ts'), {
    env: { ...(PATH ? { PATH } : {}), ...(NODE_ENV ? { NODE_ENV } : {}), ...SETTINGS },
    // A signal to the group of this process reaches only this process, which stops the demo provider after its jobs.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message: ProcessMessage) => {
      if ('ready' in message) resolve(message.ready);
      else reject(new Error(`the demo provider cannot start: ${message.failed}`));
    });
    void ended.then(() => reject(new Error('the demo provider ended during its start')));
  });
  return {
    url,
    pid: child.pid ?? 0,
    ended,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
