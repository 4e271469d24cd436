import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { closeServer } from '../close-server.ts';
import type { Dice } from './dice.ts';

/** A received webhook message. */
export interface SoakMessage {
  /** `webhook-id`. */
  id: string;
  type: string;
  batchId: string;
  body: string;
  isSigned: boolean;
}

/** The receiver of all customers. The path contains the account. */
export interface SoakReceiver {
  /** Returns the address for the messages of an account. */
  urlOf(accountId: number): string;
  messages: SoakMessage[];
  close(): Promise<void>;
}

/** Receives webhooks. For some messages it refuses the first attempt, or accepts it without an answer. */
export async function openSoakReceiver(
  secrets: ReadonlyMap<number, string>,
  dice: Dice,
): Promise<SoakReceiver> {
  const messages: SoakMessage[] = [];
  const seen = new Set<string>();

  const server = createServer((request, response) => {
    void take(request).then(
      (id) => {
        const isFirst = !seen.has(id);
        seen.add(id);
        const mood = isFirst ? dice.fraction() : 1;
        if (mood < 0.1) response.writeHead(500).end();
        else if (mood < 0.15) response.destroy();
        else response.writeHead(204).end();
      },
      // The sender was killed while it sent the message.
      () => response.destroy(),
    );
  });

  async function take(request: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const headers = request.headers as Record<string, string>;
    const { type, data } = JSON.parse(body) as { type: string; data: { batchId: string } };
    const id = headers['webhook-id'] ?? '';
    const isSigned = isSignedWith(secrets.get(Number(request.url?.slice(1))) ?? '', body, headers);
    messages.push({ id, type, batchId: data.batchId, body, isSigned });
    return id;
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (accountId) => `http://127.0.0.1:${port}/${accountId}`,
    messages,
    close: () => closeServer(server),
  };
}

function isSignedWith(secret: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}
