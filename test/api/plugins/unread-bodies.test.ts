import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect } from 'vitest';
import { newKey } from '../../../src/accounts/authentication.ts';
import { sendRaw } from '../../support/raw-request.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { workers: 0 });

const MIB = 1_048_576;

/** The bytes that Node.js reads before it stops: its buffer, and bytes that arrive meanwhile. */
const MOST_READ_BYTES = 3 * 65_536;

/** Returns the next connection to the gateway, as the gateway sees it. */
async function nextConnection({ gateways }: Souk): Promise<Socket> {
  const [socket] = (await once(gateways[0]?.app.server as NodeJS.EventEmitter, 'connection')) as [Socket];
  return socket;
}

test.for([
  ['with an unknown key', '/api/batches', newKey()],
  ['that is too large for its endpoint', '/api/market/productfinder', null],
] as const)(
  'answers a body of 16 MiB %s, reads little of it, and closes its connection',
  async ([, path, key], { souk, client }) => {
    const connection = nextConnection(souk);
    const headers = {
      'x-api-key': key ?? client.key,
      'content-type': 'application/json',
      'content-length': 16 * MIB,
    };
    const { socket, response } = sendRaw(client.baseUrl, { path, headers, body: ' '.repeat(4 * MIB) });
    // The rest of the body cannot be sent.
    socket.on('error', () => {});
    const ended = once(socket, 'end');
    const received = await connection;
    expect([401, 413]).toContain((await response).status);
    // The client receives the complete answer before the connection is reset.
    await ended;
    expect(received.destroyed).toBe(false);
    await souk.clock.until('unread body');
    expect(received.bytesRead).toBeLessThanOrEqual(MOST_READ_BYTES);
    const closed = once(received, 'close');
    souk.clock.advance(1_000);
    await closed;
    socket.destroy();
  },
);

test('reads a small body of a refused request, then serves the next one', async ({ souk, client }) => {
  const connection = nextConnection(souk);
  const headers = { 'x-api-key': newKey(), 'content-length': 60_000 };
  const { socket, response } = sendRaw(client.baseUrl, { path: '/api/batches', headers });
  expect((await response).status).toBe(401);
  const second = once(socket, 'data');
  socket.write(`${' '.repeat(60_000)}GET /healthz HTTP/1.1\r\nHost: souk\r\n\r\n`);
  expect(String((await second)[0])).toMatch(/^HTTP\/1\.1 200 /);
  expect((await connection).destroyed).toBe(false);
  socket.destroy();
});
