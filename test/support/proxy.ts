import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

type Direction = 'requests' | 'replies';

/** What a network does while it has a fault. */
export interface NetworkFault {
  /** Data arrives later, by this time and by as much as chance adds up to `jitterMs`. */
  delayMs?: number;
  jitterMs?: number;
  /**
   * Data of this direction, and ends of connections, arrive when the fault is over. New connections are accepted, so those of `both`
   * are half-open: neither side learns that the other has gone.
   */
  hold?: Direction | 'both';
  /** Each connection breaks when its next reply would arrive: the store has done what it was asked to do. */
  losesReplies?: boolean;
}

/** A proxy to a store, whose network a test disturbs. */
export interface StoreProxy {
  /** The address of the store through the proxy. */
  url: string;
  /** Breaks connections and refuses new ones, as a store does that has stopped. */
  cut(): Promise<void>;
  /** Replaces the present fault. */
  disturb(fault: NetworkFault): void;
  /** Ends every fault. Data that was held arrives now. */
  restore(): Promise<void>;
  /** Leads new connections to another store, as an address does that moves after a fail-over. */
  moveTo(target: string): void;
  close(): Promise<void>;
}

/** @param target need not listen yet. */
export async function openProxy(target: string): Promise<StoreProxy> {
  let present = new URL(target);
  const network = createNetwork();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const store = connect({ host: present.hostname, port: Number(present.port) });
    for (const [from, to, direction] of [
      [client, store, 'requests'],
      [store, client, 'replies'],
    ] as const) {
      sockets.add(from.setNoDelay());
      from.on('close', () => sockets.delete(from));
      carry(network, direction, from, to);
    }
  });
  const listen = (at: number) =>
    new Promise<void>((resolve) => server.listen(at, '127.0.0.1', () => resolve()));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const cut = () =>
    new Promise<void>((resolve) => {
      if (!server.listening) return resolve();
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return {
    url: url.href,
    cut,
    disturb: network.disturb,
    async restore() {
      network.disturb({});
      if (!server.listening) await listen(port);
    },
    moveTo(other) {
      present = new URL(other);
    },
    close() {
      network.disturb({});
      return cut();
    },
  };
}

function createNetwork() {
  let fault: NetworkFault = {};
  const waiting: (() => void)[] = [];
  const isHeld = (direction: Direction) => fault.hold === direction || fault.hold === 'both';
  return {
    disturb(next: NetworkFault): void {
      fault = next;
      for (const wake of waiting.splice(0)) wake();
    },
    losesReplies: () => fault.losesReplies === true,
    isClear: (direction: Direction) => !isHeld(direction) && !fault.delayMs && !fault.jitterMs,
    /** Resolves when data that is sent now in this direction arrives. */
    async arrival(direction: Direction): Promise<void> {
      const { delayMs = 0, jitterMs = 0 } = fault;
      const laterMs = delayMs + Math.random() * jitterMs;
      if (laterMs > 0) await new Promise<void>((arrived) => setTimeout(arrived, laterMs));
      while (isHeld(direction)) await new Promise<void>((wake) => waiting.push(wake));
    },
  };
}

/** Passes data and the end of a connection on, in their order. */
function carry(
  network: ReturnType<typeof createNetwork>,
  direction: Direction,
  from: Socket,
  to: Socket,
): void {
  /** Resolves when all that is on its way has arrived; null: nothing is. */
  let underWay: Promise<void> | null = null;
  const pass = (arrive: () => void) => {
    if (underWay === null && network.isClear(direction)) return arrive();
    const mine = Promise.all([network.arrival(direction), underWay]).then(() => {
      if (underWay === mine) underWay = null;
      arrive();
    });
    underWay = mine;
  };
  from.on('data', (chunk) => {
    if (direction === 'replies' && network.losesReplies()) {
      from.destroy();
      to.destroy();
      return;
    }
    pass(() => {
      if (to.write(chunk) || from.isPaused()) return;
      from.pause();
      to.once('drain', () => from.resume());
    });
  });
  from.on('error', () => {});
  from.on('close', () => pass(() => to.destroySoon()));
}
