import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { REQUEST_LIMITS } from '../../../src/api/plugins/requests.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

// Node.js measures headers by its own clock, so those limits are short here; bodies are measured by the test's clock.
const LIMITS = { ...REQUEST_LIMITS, headersMs: 300, checkMs: 50, leastBodyBytes: 1_000 };

test.override('soukOptions', { workers: 0, gateway: { requestLimits: LIMITS } });

function serverOf({ gateways }: Souk): Server {
  const [gateway] = gateways;
  if (!gateway) throw new Error('no gateway');
  return gateway.app.server;
}

interface Connection {
  socket: Socket;
  /** Returns everything that the service has sent, after it has closed the connection. */
  closed: Promise<string>;
}

async function openConnection(souk: Souk): Promise<Connection> {
  const { port } = serverOf(souk).address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  socket.on('error', () => {});
  const closed = once(socket, 'close').then(() => Buffer.concat(pieces).toString());
  await once(socket, 'connect');
  return { socket, closed };
}

const post = (path: string, key: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: souk\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`;

test('returns REQUEST_TIMEOUT and closes the connection if headers do not end in time', async ({ souk }) => {
  const { socket, closed } = await openConnection(souk);
  socket.write('GET /healthz HTTP/1.1\r\nX-Slow: 1');
  const answer = await closed;
  expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(answer).toContain('"code":"REQUEST_TIMEOUT"');
  expect(answer).toMatch(/cache-control: private, no-store\r\n/i);
});

test('closes a connection that sends nothing', async ({ souk }) => {
  const { closed } = await openConnection(souk);
  expect(await closed).toMatch(/^(HTTP\/1\.1 408 |$)/);
});

test('refuses a body slower than the minimum rate, and closes the connection', async ({ souk, account }) => {
  const { socket, closed } = await openConnection(souk);
  const watched = souk.clock.until('request body');
  socket.write(post('/api/batches', account.key, 100_000));
  socket.write('{"operation":');
  await watched;
  // Until the gateway reads the body, its bytes wait there, and the client is not the slow side.
  await expect
    .poll(() => {
      souk.clock.advance(LIMITS.bodyPeriodMs);
      return souk.clock.countOf('request body');
    })
    .toBe(0);
  const answer = await closed;
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(answer).toContain('"code":"REQUEST_TIMEOUT"');
});

test('accepts a slow body above the minimum rate', async ({ souk, account }) => {
  const { socket, closed } = await openConnection(souk);
  const piece = ' '.repeat(LIMITS.leastBodyBytes);
  const watched = souk.clock.until('request body');
  socket.write(post('/api/market/product', account.key, 3 * piece.length + 2));
  await watched;
  for (let i = 0; i < 3; i += 1) {
    const before = received(souk);
    socket.write(piece);
    await expect.poll(() => received(souk)).toBe(before + piece.length);
    souk.clock.advance(LIMITS.bodyPeriodMs);
    expect(souk.clock.countOf('request body')).toBe(1);
  }
  socket.write('{}');
  // The body has arrived completely, and is refused for its content.
  expect(await closed).toMatch(/^HTTP\/1\.1 400 /);
});

test('answers a request, and closes the connection when the next one is slow', async ({ souk, account }) => {
  const { socket, closed } = await openConnection(souk);
  socket.write(`GET /api/quota HTTP/1.1\r\nHost: souk\r\nX-API-Key: ${account.key}\r\n\r\n`);
  await once(socket, 'data');
  socket.write('GET /api/qu');
  expect(await closed).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1 408 Request Timeout/);
});

/** Bytes that the gateway has received on all connections that are open. */
function received(souk: Souk): number {
  const sockets = openSockets.get(souk) ?? watchSockets(souk);
  return [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0);
}

const openSockets = new WeakMap<Souk, Set<Socket>>();

function watchSockets(souk: Souk): Set<Socket> {
  const sockets = new Set<Socket>();
  openSockets.set(souk, sockets);
  serverOf(souk).on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

test.beforeEach(({ souk }) => {
  if (!openSockets.has(souk)) watchSockets(souk);
});
