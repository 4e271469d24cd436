import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { closeServer } from '../close-server.ts';
import type { Dice } from './dice.ts';
import type { History } from './history-file.ts';

/** The receiver of all customers. The path contains the account. */
export interface SoakReceiver {
  /** Returns the address for the messages of an account. */
  urlOf(accountId: number): string;
  close(): Promise<void>;
}

/** What the data of a message is about. */
interface Subject {
  jobId?: string;
  batchId?: string;
  state: string;
  unitsCharged?: number;
}

/** Receives webhooks. For some messages it refuses the first attempt, or accepts it without an answer. */
export async function openSoakReceiver(
  secrets: ReadonlyMap<number, string>,
  dice: Dice,
  history: History,
): Promise<SoakReceiver> {
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
    const { type, data } = JSON.parse(body) as { type: string; data: Subject };
    const id = headers['webhook-id'] ?? '';
    const account = Number(request.url?.slice(1));
    const isSigned = isSignedWith(secrets.get(account) ?? '', body, headers);
    const about = {
      subject: data.jobId ?? data.batchId ?? '',
      state: data.state,
      units: data.unitsCharged ?? null,
    };
    const digest = createHash('sha256').update(body).digest('base64url');
    history.note({ kind: 'message', account, id, type, ...about, digest, isSigned });
    return id;
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (accountId) => `http://127.0.0.1:${port}/${accountId}`,
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
