import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { vi } from 'vitest';
import { closeServer } from './close-server.ts';

/** A received webhook message. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** True after the sender has disconnected before the end of the answer. */
  aborted: boolean;
}

/** Answers with a status, or does something else with the response. */
export type Reaction = (
  message: Received,
  response: ServerResponse,
) => number | 'handled' | Promise<number | 'handled'>;

/** A server that receives webhooks and responds as the test requires; default: 204. */
export interface Receiver {
  url: string;
  received: Received[];
  /** The webhook-id of each message, in the order of arrival. */
  ids(): string[];
  react(reaction: Reaction): void;
  close(): Promise<void>;
}

/** @param place where to listen; a free port of 127.0.0.1 unless given. */
export async function openReceiver(place: { host?: string; port?: number } = {}): Promise<Receiver> {
  const { host = '127.0.0.1', port = 0 } = place;
  const received: Received[] = [];
  let react: Reaction = () => 204;
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const message = { path, headers, body: Buffer.concat(chunks).toString(), aborted: false };
    response.once('close', () => {
      message.aborted = !response.writableFinished;
    });
    received.push(message);
    const reaction = await react(message, response);
    if (reaction !== 'handled') response.writeHead(reaction).end();
  }

  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    received,
    ids: () => received.map(({ headers }) => String(headers['webhook-id'])),
    react: (reaction) => {
      react = reaction;
    },
    close: () => closeServer(server),
  };
}

/** Returns the verified content of a message. @throws if it is not signed with `secret`, or not at this time. */
export function verified({ headers, body }: Received, secret: string, now: number): unknown {
  const today = vi.spyOn(Date, 'now').mockReturnValue(now);
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>);
  } finally {
    today.mockRestore();
  }
}
