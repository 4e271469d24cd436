import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createHostLookup } from '../../src/webhooks/host-lookup.ts';

const { signal: never } = new AbortController();

/** A name server on a port of its own, which answers with these addresses; without any, it stays silent. */
async function nameServer(answers: { v4?: string[]; v6?: string[]; missing?: boolean } | null) {
  const socket = createSocket('udp4');
  const asked = new Set<string>();
  socket.on('message', (query, { port }) => {
    const { name, type } = questionOf(query);
    asked.add(name);
    if (answers === null) return;
    const addresses = type === 1 ? (answers.v4 ?? []).map(bytesOfV4) : (answers.v6 ?? []).map(bytesOfV6);
    socket.send(replyTo(query, type, addresses, answers.missing ?? false), port);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    asked,
    servers: [`127.0.0.1:${socket.address().port}`],
    [Symbol.asyncDispose]: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** Reads the question of a DNS message (RFC 1035, 4.1). */
function questionOf(query: Buffer): { name: string; type: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1) };
}

function replyTo(query: Buffer, type: number, addresses: readonly Buffer[], missing: boolean): Buffer {
  let end = 12;
  while ((query[end] ?? 0) > 0) end += 1 + (query[end] ?? 0);
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(missing ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, address.length]);
    return Buffer.concat([record, address]);
  });
  return Buffer.concat([head, query.subarray(12, end + 5), ...records]);
}

const bytesOfV4 = (address: string) => Buffer.from(address.split('.').map(Number));
const bytesOfV6 = (address: string) => Buffer.from(address.replaceAll(':', ''), 'hex');

test('returns the addresses of both families', async () => {
  await using server = await nameServer({
    v4: ['203.0.113.5', '203.0.113.6'],
    v6: ['2001:0db8:0000:0000:0000:0000:0000:0001'],
  });
  expect(await createHostLookup(server)('hooks.example.', never)).toEqual([
    { address: '203.0.113.5', family: 4 },
    { address: '203.0.113.6', family: 4 },
    { address: '2001:db8::1', family: 6 },
  ]);
});

test('returns the addresses of a name with one family only', async () => {
  await using server = await nameServer({ v4: ['203.0.113.5'] });
  expect(await createHostLookup(server)('hooks.example', never)).toEqual([
    { address: '203.0.113.5', family: 4 },
  ]);
});

test('throws ENOTFOUND for a name that does not exist', async () => {
  await using server = await nameServer({ missing: true });
  await expect(createHostLookup(server)('hooks.example', never)).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('returns addresses of the hosts file without a query', async () => {
  await using server = await nameServer(null);
  const folder = await mkdtemp(join(tmpdir(), 'souk-hosts-'));
  const hostsFile = join(folder, 'hosts');
  await writeFile(hostsFile, '127.0.0.1\tlocalhost  loop # local\n::1 localhost\n#10.0.0.1 other\n');
  const lookup = createHostLookup({ ...server, hostsFile });
  expect(await lookup('LOCALHOST', never)).toEqual([
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]);
  expect(await lookup('loop', never)).toEqual([{ address: '127.0.0.1', family: 4 }]);
  expect([...server.asked]).toEqual([]);
  await rm(folder, { recursive: true });
});

test('finds localhost with the defaults', async () => {
  const addresses = await createHostLookup()('localhost', never);
  expect(addresses.every(({ address }) => address === '::1' || address.startsWith('127.'))).toBe(true);
  expect(addresses).not.toEqual([]);
});

test('sends the queries of many names while a name server is silent, and ends them when cancelled', async () => {
  await using server = await nameServer(null);
  const lookup = createHostLookup(server);
  // The system's lookup occupies one of four threads for each name, so a fifth name would wait for the first ones.
  const names = Array.from({ length: 12 }, (_, i) => `hooks-${i}.example`);
  const stops = names.map(() => new AbortController());
  const lookups = Promise.allSettled(names.map((name, i) => lookup(name, stops[i]?.signal ?? never)));
  await expect.poll(() => [...server.asked].sort()).toEqual([...names].sort());
  for (const stop of stops) stop.abort();
  for (const outcome of await lookups)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'ECANCELLED' } });
});
