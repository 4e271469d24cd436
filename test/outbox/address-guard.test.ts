import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AddressRefused,
  createAddressGuard,
  createHostLookup,
  type HostAddress,
  isFit,
  pinnedLookup,
} from '../../src/outbox/webhooks/address-guard.ts';
import { words } from '../support/words.ts';

const v4 = (address: string): HostAddress => ({ address, family: 4 });
const v6 = (address: string): HostAddress => ({ address, family: 6 });

/** Addresses that are not public, by kind. */
const SPECIAL: [kind: string, ...addresses: string[]][] = [
  ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
  ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff:ffff::1'],
  ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
  ['link-local', '169.254.0.1', 'fe80::1', 'febf::1'],
  ['metadata', '169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254'],
  ['carrier-grade NAT', '100.64.0.1', '100.127.255.254'],
  ['multicast and broadcast', '224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
  ['documentation and benchmarks', '192.0.2.1', '198.51.100.7', '203.0.113.9', '198.18.0.1', '2001:db8::1'],
  ['reserved', '240.0.0.1', '192.0.0.8', '192.88.99.1', '4000::1', '100::1', '5f00::1', 'fec0::1'],
  ['IPv4 within IPv6: mapped', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:8.8.8.8'],
  ['IPv4 within IPv6: compatible', '::127.0.0.1', '::10.0.0.1', '::8.8.8.8'],
  ['IPv4 within IPv6: NAT64', '64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::a00:1'],
  ['IPv4 within IPv6: translated', '::ffff:0:127.0.0.1'],
  ['IPv4 within IPv6: 6to4, Teredo', '2002:7f00:1::', '2002:a00:1::1', '2001:0:7f00:1::1'],
];

describe('refuses the address of a machine that is not public:', () => {
  test.each(SPECIAL.flatMap(([kind, ...addresses]) => addresses.map((address) => [kind, address])))(
    '%s %s',
    (_kind, address) => expect(isFit(address, false)).toBe(false),
  );
});

test.each([...words('1.1.1.1 8.8.8.8 93.184.215.14 172.32.0.1 100.128.0.1 2606:4700::1111 2a00:1450::1')])(
  'accepts %s',
  (address) => expect(isFit(address, false)).toBe(true),
);

test.each(['', 'localhost', '1.2.3.4.5', '::1::', '300.1.1.1'])('refuses %j, no address', (address) => {
  expect([isFit(address, false), isFit(address, true)]).toEqual([false, false]);
});

describe('where private addresses are allowed,', () => {
  test.each(['127.0.0.1', '::1', '10.1.2.3', '192.168.0.9', '172.20.0.1', 'fd12::1', '1.1.1.1'])(
    'accepts %s',
    (address) => expect(isFit(address, true)).toBe(true),
  );
  test.each(['169.254.169.254', 'fe80::1', '168.63.129.16', 'fd00:ec2::254', '0.0.0.0', '::', '224.0.0.1'])(
    'refuses %s',
    (address) => expect(isFit(address, true)).toBe(false),
  );
});

test('refuses an IPv6 address that contains a private IPv4 address, in each known form', () => {
  const group = (high: number, low: number) => ((high << 8) | low).toString(16);
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(octet, octet, octet, (b, c, d) => {
      const [high, low] = [group(10, b), group(c, d)];
      const forms = [
        `::ffff:${high}:${low}`,
        `::${high}:${low}`,
        `64:ff9b::${high}:${low}`,
        `2002:${high}:${low}::1`,
      ];
      expect(forms.filter((address) => isFit(address, false))).toEqual([]);
    }),
  );
});

const { signal } = new AbortController();

/** A resolver with successive answers, which records its queries. */
function resolver(...answers: HostAddress[][]) {
  const asked: string[] = [];
  const resolve = async (hostname: string) => {
    asked.push(hostname);
    return answers[Math.min(asked.length, answers.length) - 1] ?? [];
  };
  return { asked, resolve };
}

const unusedLookup = () => Promise.reject(new Error('this test must not look up a name'));

describe('a URL with an IP address for its host', () => {
  test.each([
    ...words(`
      http://127.0.0.1/ http://2130706433/ http://0x7f000001/ http://0x7f.0.0.1/ http://0177.0.0.1/
      http://017700000001/ http://127.1/ http://127.0.0.1./ http://①②⑦.⓪.⓪.①/ http://%31%32%37.0.0.1/
      http:127.0.0.1
    `),
    'http:\\\\127.0.0.1\\hook',
    ...words(`
      https://[::1]/ https://[0:0:0:0:0:0:0:1]/ https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/
      https://[64:ff9b::7f00:1]/ https://[fe80::1]/ http://3232235777/
      http://169.254.169.254/latest/meta-data/ http://2852039166/ http://0/ http://localhost/
      http://LOCALHOST./ http://api.localhost:8080/ http://metadata.google.internal/
      http://printer.local/
    `),
  ])('%s is refused without a DNS query', async (url) => {
    const guard = createAddressGuard(false, unusedLookup);
    await expect(guard.addressesOf(new URL(url), signal)).rejects.toThrow(AddressRefused);
  });

  test('is accepted if the address is public, and resolves to that address', async () => {
    const guard = createAddressGuard(false, unusedLookup);
    expect(await guard.addressesOf(new URL('https://1.1.1.1/'), signal)).toEqual([v4('1.1.1.1')]);
    expect(await guard.addressesOf(new URL('https://[2606:4700::1111]/'), signal)).toEqual([
      v6('2606:4700::1111'),
    ]);
    expect(await guard.addressesOf(new URL('http://16843009/'), signal)).toEqual([v4('1.1.1.1')]);
  });
});

describe('a URL with a host name', () => {
  const url = new URL('https://hooks.example.com/in');

  test('is accepted if all addresses of the name are public', async () => {
    const answer = [v4('93.184.215.14'), v6('2606:2800::1')];
    const { asked, resolve } = resolver(answer);
    expect(await createAddressGuard(false, resolve).addressesOf(url, signal)).toEqual(answer);
    expect(asked).toEqual(['hooks.example.com']);
  });

  test.each<[string, HostAddress[]]>([
    ['a private one', [v4('10.0.0.5')]],
    ['loopback', [v4('127.0.0.1')]],
    ['a private one among public ones', [v4('93.184.215.14'), v4('192.168.0.1')]],
    ['a mapped one', [v6('::ffff:10.0.0.5')]],
    ['a metadata service', [v4('169.254.169.254')]],
    ['none at all', []],
  ])('with %s is refused with an error that does not name the address', async (_what, answer) => {
    const guard = createAddressGuard(false, resolver(answer).resolve);
    const refusal = await guard.addressesOf(url, signal).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AddressRefused);
    for (const { address } of answer) expect(String(refusal)).not.toContain(address);
  });

  test('is resolved for each attempt, and refused once the name has a private address', async () => {
    const { resolve } = resolver([v4('93.184.215.14')], [v4('127.0.0.1')]);
    const guard = createAddressGuard(false, resolve);
    expect(await guard.addressesOf(url, signal)).toEqual([v4('93.184.215.14')]);
    await expect(guard.addressesOf(url, signal)).rejects.toThrow(AddressRefused);
  });
});

describe('a pinned lookup', () => {
  const lookup = pinnedLookup([v4('93.184.215.14'), v6('2606:2800::1'), v4('93.184.215.15')]);
  const ask = (hostname: string, options: Parameters<typeof lookup>[1]) =>
    new Promise<unknown[]>((resolve) => lookup(hostname, options, (...answer) => resolve(answer)));

  test('returns only the checked addresses, for any name', async () => {
    for (const hostname of ['hooks.example.com', 'localhost', '127.0.0.1']) {
      expect(await ask(hostname, { all: true })).toEqual([
        null,
        [v4('93.184.215.14'), v6('2606:2800::1'), v4('93.184.215.15')],
      ]);
      expect(await ask(hostname, {})).toEqual([null, '93.184.215.14', 4]);
      expect(await ask(hostname, { family: 6 })).toEqual([null, '2606:2800::1', 6]);
    }
  });

  test('returns ENOTFOUND if no checked address has the requested family', async () => {
    const only6 = pinnedLookup([v6('2606:2800::1')]);
    const error = await new Promise((resolve) => only6('x', { family: 4 }, resolve));
    expect(error).toMatchObject({ code: 'ENOTFOUND' });
  });
});

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
