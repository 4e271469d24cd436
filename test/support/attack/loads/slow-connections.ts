import { connect } from 'node:net';
import type { Answers } from '../attack-case.ts';

export interface SlowConnectionOptions {
  gateway: string;
  /** The beginnings of the requests; each is sent over `each` connections and goes on by a byte a second. */
  beginnings: readonly string[];
  each: number;
  /** How long the service has to close them. */
  seconds: number;
}

/** Opens connections that send a byte a second. @returns the answers, and how many connections were still open at the end. */
export async function openSlowConnections(options: SlowConnectionOptions): Promise<Answers> {
  const { gateway, beginnings, each, seconds } = options;
  const { hostname, port } = new URL(gateway);
  const answers: Answers = { open: 0 };
  const count = (name: string) => {
    answers[name] = (answers[name] ?? 0) + 1;
  };
  const hold = (beginning: string) =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname);
      let status = 'none';
      let isOpen = true;
      const drip = setInterval(() => socket.write('a'), 1_000);
      const limit = setTimeout(() => finish('open'), seconds * 1_000);
      const finish = (outcome: string) => {
        if (!isOpen) return;
        isOpen = false;
        clearInterval(drip);
        clearTimeout(limit);
        count(outcome);
        socket.destroy();
        resolve();
      };
      socket.on('data', (chunk: Buffer) => {
        status = /HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))?.[1] ?? status;
      });
      socket.on('error', () => finish(status));
      socket.on('close', () => finish(status));
      socket.write(beginning);
    });
  await Promise.all(beginnings.flatMap((beginning) => Array.from({ length: each }, () => hold(beginning))));
  return answers;
}
