import { type AddressInfo, connect, createServer } from 'node:net';

/** A PostgreSQL that ends each connection of a pool as soon as it is open, in the same packet. */
export interface EndingServer {
  url: string;
  /** How many connections it has ended. */
  ended(): number;
  close(): Promise<void>;
}

const READY = Buffer.from('Z\0\0\0\u0005I');
const FATAL_FIELDS = Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0');

export async function openEndingServer(target: string): Promise<EndingServer> {
  const { hostname, port } = new URL(target);
  let ended = 0;
  const server = createServer((client) => {
    const store = connect({ host: hostname, port: Number(port) });
    let isProbe = false;
    client.on('data', (chunk) => {
      isProbe ||= chunk.includes('souk-probe');
      store.write(chunk);
    });
    store.on('data', (chunk) => {
      if (isProbe || !chunk.includes(READY)) return void client.write(chunk);
      ended += 1;
      client.end(Buffer.concat([chunk, fatalError()]));
    });
    for (const [one, other] of [
      [client, store],
      [store, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroySoon());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    ended: () => ended,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function fatalError(): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(FATAL_FIELDS.length + length.length);
  return Buffer.concat([Buffer.from('E'), length, FATAL_FIELDS]);
}
