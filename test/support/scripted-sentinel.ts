import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSignals } from './signals.ts';

/** A server that answers as a sentinel, when the test lets it. */
export interface ScriptedSentinel {
  /** The value of REDIS_URL. */
  url: string;
  /** Answers no further question for the master until the returned function is called. */
  hold(): () => void;
  /** Resolves once a question waits for its answer. */
  asked(): Promise<unknown>;
  close(): Promise<void>;
}

/** @param master the address of a Redis on 127.0.0.1. */
export async function openScriptedSentinel(master: string): Promise<ScriptedSentinel> {
  const { port, password } = new URL(master);
  const sockets = new Set<Socket>();
  const signals = createSignals(() => [{ waiting: waiting.length }]);
  let waiting: (() => void)[] = [];
  let isHeld = false;

  function answer(socket: Socket, command: string): void {
    if (command === 'sentinel') {
      const reply = () => void socket.write(`*2\r\n$9\r\n127.0.0.1\r\n$${port.length}\r\n${port}\r\n`);
      if (isHeld) waiting.push(reply);
      else reply();
    } else if (command === 'hello') socket.write("-ERR unknown command 'HELLO'\r\n");
    else socket.write('+OK\r\n');
    signals.changed();
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    // A client may hang up before it has read everything.
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      signals.changed();
    });
    socket.on('data', (bytes) => {
      for (const command of commandsIn(String(bytes))) answer(socket, command);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `redis+sentinel://:${password}@127.0.0.1:${(server.address() as AddressInfo).port}/main`,
    hold() {
      isHeld = true;
      return () => {
        isHeld = false;
        for (const reply of waiting) reply();
        waiting = [];
      };
    },
    asked: () => signals.until('a question for the master', () => waiting.length > 0 || undefined),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** The names of commands, each of which ioredis sends in one piece as `*COUNT $LENGTH NAME ...`. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/\*\d+\r\n\$\d+\r\n([^\r]*)/g)].map(([, name = '']) => name.toLowerCase());
}
