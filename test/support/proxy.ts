import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy to a store, which a test can interrupt. */
export interface StoreProxy {
  /** The address of the store through the proxy. */
  url: string;
  /** Simulates a stopped store: breaks connections and refuses new ones. */
  cut(): Promise<void>;
  /** Simulates a store that hangs: forwards no further bytes from it. */
  stall(): void;
  restore(): Promise<void>;
  /** Leads new connections to another store, as an address does that moves after a fail-over. */
  moveTo(target: string): void;
  close(): Promise<void>;
}

export async function openProxy(target: string): Promise<StoreProxy> {
  let present = new URL(target);
  const sockets = new Set<Socket>();
  let isStalled = false;
  const server = createServer((client) => {
    const store = connect({ host: present.hostname, port: Number(present.port) });
    for (const [from, to] of [
      [client, store],
      [store, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (!isStalled) to.write(chunk);
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const listen = (at: number) =>
    new Promise<void>((resolve) => server.listen(at, '127.0.0.1', () => resolve()));
  await listen(0);
  const address = server.address() as AddressInfo;
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
  const cut = () =>
    new Promise<void>((resolve) => {
      if (!server.listening) return resolve();
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return {
    url: url.href,
    cut,
    stall() {
      isStalled = true;
    },
    async restore() {
      isStalled = false;
      if (!server.listening) await listen(address.port);
    },
    moveTo(other) {
      present = new URL(other);
    },
    close: cut,
  };
}
