import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { closeServer } from '../close-server.ts';

/** The faults of a gateway, by the address of the request. */
export interface InjectedFaults {
  /** Answered with 500. */
  throws: RegExp;
  /** Answered this much later. */
  sleeps: RegExp;
  sleepMs: number;
  /** Served, and answered with 400. */
  charges: RegExp;
}

const REFUSAL = JSON.stringify({ code: 'VALIDATION_FAILED', msg: 'Injected.', data: null });

/** Opens a proxy that passes requests on to a gateway, and adds faults to some answers. */
export async function openFaultyGateway(
  gateway: string,
  { throws, sleeps, sleepMs, charges }: InjectedFaults,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((received, reply) => {
    const { method, url = '/', headers } = received;
    const { hostname, port } = new URL(gateway);
    if (throws.test(url)) return void reply.writeHead(500).end();
    const sent = request({ hostname, port, method, path: url, headers }, (response) => {
      const isRefused = charges.test(url) && response.statusCode === 200;
      const send = () => {
        // The client may have gone.
        if (reply.destroyed) return void response.destroy();
        reply.writeHead(isRefused ? 400 : (response.statusCode ?? 502), isRefused ? {} : response.headers);
        if (isRefused) {
          response.resume();
          reply.end(REFUSAL);
        } else pipeline(response, reply, () => {});
      };
      if (sleeps.test(url)) setTimeout(send, sleepMs);
      else send();
    });
    sent.on('error', () => received.socket.destroy());
    pipeline(received, sent, () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => closeServer(server),
  };
}
