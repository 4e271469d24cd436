import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openProxy, type StoreProxy } from '../support/proxy.ts';

/** What the store has received, in all connections. */
let received = '';
const stored: Socket[] = [];
const store = createServer((socket) => {
  stored.push(socket);
  socket.on('error', () => {});
  socket.on('data', (data) => {
    received += data;
    socket.write(`re:${String(data)}`);
  });
});
let proxy: StoreProxy;
beforeAll(async () => {
  store.listen(0, '127.0.0.1');
  await once(store, 'listening');
  proxy = await openProxy(`redis://127.0.0.1:${(store.address() as AddressInfo).port}`);
});
afterAll(async () => {
  await proxy.close();
  store.close();
});
beforeEach(async () => {
  await proxy.restore();
  received = '';
});

/** A client that has exchanged a first message through the proxy. */
async function client() {
  const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  const seen = { text: '', isClosed: false };
  socket.on('error', () => {});
  socket.on('data', (data) => {
    seen.text += data;
  });
  socket.on('close', () => {
    seen.isClosed = true;
  });
  socket.write('hello ');
  await expect.poll(() => seen.text).toBe('re:hello ');
  return { socket, seen };
}

test('passes data on in its order while the delay changes', async () => {
  const { socket, seen } = await client();
  proxy.disturb({ delayMs: 20, jitterMs: 30 });
  socket.write('a');
  await expect.poll(() => received).toBe('hello a');
  socket.write('b');
  await proxy.restore();
  socket.write('c');
  await expect.poll(() => seen.text.replaceAll('re:', '')).toBe('hello abc');
  socket.destroy();
});

test.each([
  ['requests', 'hello ', 're:hello '],
  ['replies', 'hello more', 're:hello '],
  ['both', 'hello ', 're:hello '],
] as const)(
  'holding %s keeps connections open, and everything arrives when it ends',
  async (hold, atStore, atClient) => {
    const { socket, seen } = await client();
    proxy.disturb({ hold });
    socket.write('more');
    if (hold === 'replies') await expect.poll(() => received).toBe(atStore);
    // A new connection is accepted.
    const other = connect(Number(new URL(proxy.url).port), '127.0.0.1');
    await once(other, 'connect');
    expect([received, seen.text]).toEqual([atStore, atClient]);
    await proxy.restore();
    await expect.poll(() => [received, seen.text]).toEqual(['hello more', 're:hello re:more']);
    for (const one of [socket, other]) one.destroy();
  },
);

test('a store does not learn that a client has gone while data is held', async () => {
  const { socket } = await client();
  const atStore = stored.at(-1);
  proxy.disturb({ hold: 'both' });
  socket.destroy();
  await once(socket, 'close');
  const other = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  await once(other, 'connect');
  expect(atStore?.destroyed).toBe(false);
  await proxy.restore();
  await expect.poll(() => atStore?.destroyed).toBe(true);
  other.destroy();
});

test('a lost reply breaks its connection after the request has arrived', async () => {
  const { socket, seen } = await client();
  proxy.disturb({ losesReplies: true });
  socket.write('more');
  await expect.poll(() => seen.isClosed).toBe(true);
  expect([received, seen.text]).toEqual(['hello more', 're:hello ']);
});

test('a cut breaks connections and refuses new ones', async () => {
  const { seen } = await client();
  await proxy.cut();
  await expect.poll(() => seen.isClosed).toBe(true);
  const refused = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  const [error] = await once(refused, 'error');
  expect(error.code).toBe('ECONNREFUSED');
  await proxy.restore();
  const { socket } = await client();
  socket.destroy();
});
