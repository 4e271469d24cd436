import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A request that is written byte by byte, for bodies that are not sent completely. */
export interface RawRequest {
  socket: Socket;
  /** Resolves with the status and the body of the first response on the connection. */
  response: Promise<{ status: number; text: string }>;
}

/** Sends the head of a request and `body`, which may be incomplete. */
export function sendRaw(
  baseUrl: string,
  { path, headers, body = '' }: { path: string; headers: Record<string, string | number>; body?: string },
): RawRequest {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const lines = Object.entries({ host: hostname, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  return { socket, response: responseOf(socket) };
}

async function responseOf(socket: Socket): Promise<{ status: number; text: string }> {
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  for (;;) {
    const [head = '', text = ''] = received.split('\r\n\r\n', 2);
    const length = /content-length: (\d+)/i.exec(head);
    if (length && text.length >= Number(length[1])) return { status: Number(head.split(' ')[1]), text };
    await once(socket, 'data', { signal: AbortSignal.timeout(30_000) });
  }
}
