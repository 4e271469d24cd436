import { connect } from 'node:net';
import fc from 'fast-check';

/** The bytes to write to a connection. */
export interface RawFuzz {
  kind: string;
  bytes: Buffer;
  /** The body contains a hidden second request, to which only a vulnerable server would return 200. */
  hidesRequest: boolean;
  /** How the client ends: it waits for an answer, ends its side of the connection, or resets the connection. */
  end: 'waits' | 'closes' | 'breaks';
}

const HIDDEN = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const CHUNKED = `0\r\n\r\n${HIDDEN}`;

const post = (headers: string, body = '') =>
  `POST /api/quota HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`;

/** Malformed messages, and messages that two servers could parse differently. Each must get exactly one answer. */
const SHAPES: Record<string, string> = {
  'Content-Length before Transfer-Encoding': post(`Content-Length: 4\r\nTransfer-Encoding: chunked`, CHUNKED),
  'Content-Length after Transfer-Encoding': post(`Transfer-Encoding: chunked\r\nContent-Length: 4`, CHUNKED),
  'two lengths': post(`Content-Length: 0\r\nContent-Length: ${HIDDEN.length}`, HIDDEN),
  'a list of lengths': post(`Content-Length: 0, ${HIDDEN.length}`, HIDDEN),
  'a length with a sign': post('Content-Length: +5', 'aaaaa'),
  'a negative length': post('Content-Length: -1', HIDDEN),
  'a hexadecimal length': post('Content-Length: 0x10', HIDDEN),
  'a huge length': post('Content-Length: 99999999999999999999', 'a'),
  'an empty length': post('Content-Length: ', HIDDEN),
  'an encoding that is not chunked': post('Transfer-Encoding: xchunked', CHUNKED),
  'two Transfer-Encoding headers': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', CHUNKED),
  'chunked in a list of encodings': post('Transfer-Encoding: chunked, identity', CHUNKED),
  'an encoding after a space': post('Transfer-Encoding : chunked', CHUNKED),
  'an encoding after a tab': post('Transfer-Encoding:\tchunked\r\nContent-Length: 4', CHUNKED),
  'an encoding after a folded line': post(
    'X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 4',
    CHUNKED,
  ),
  'a chunk with an invalid size': post('Transfer-Encoding: chunked', `zz\r\n\r\n${HIDDEN}`),
  'a huge chunk': post('Transfer-Encoding: chunked', `ffffffffffffffffffff\r\na\r\n`),
  'a negative chunk': post('Transfer-Encoding: chunked', `-1\r\na\r\n`),
  'a chunk without its end': post('Transfer-Encoding: chunked', `1\r\naa\r\n0\r\n\r\n${HIDDEN}`),
  'a chunk with a long extension': post(
    'Transfer-Encoding: chunked',
    `1;${'a'.repeat(20_000)}\r\na\r\n0\r\n\r\n`,
  ),
  'line feeds alone': `POST /api/quota HTTP/1.1\nHost: x\nContent-Length: 0\n\n${HIDDEN}`,
  'carriage returns alone': 'GET /healthz HTTP/1.1\rHost: x\r\r',
  'a header without a colon': 'GET /healthz HTTP/1.1\r\nHost x\r\n\r\n',
  'a header without a name': 'GET /healthz HTTP/1.1\r\n: x\r\n\r\n',
  'a NUL in a header': 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n',
  'a NUL in the address': 'GET /heal\0thz HTTP/1.1\r\nHost: x\r\n\r\n',
  'no host': 'GET /healthz HTTP/1.1\r\n\r\n',
  'two hosts': 'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
  'no version': 'GET /healthz\r\n\r\n',
  'version 0.9': 'GET /healthz HTTP/0.9\r\n\r\n',
  'version 1.0': 'GET /healthz HTTP/1.0\r\n\r\n',
  'version 2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'version 9.9': 'GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n',
  'an absolute address': 'GET http://evil.example/healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  'an asterisk': 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
  'a tunnel': 'CONNECT 127.0.0.1:9 HTTP/1.1\r\nHost: x\r\n\r\n',
  'an upgrade':
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n\r\n',
  'an upgrade to HTTP/2':
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n',
  'an unknown method': 'FROBNICATE / HTTP/1.1\r\nHost: x\r\n\r\n',
  'no method': ' / HTTP/1.1\r\nHost: x\r\n\r\n',
  'many headers': `GET /healthz HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(3_000)}\r\n`,
  'a long header': `GET /healthz HTTP/1.1\r\nHost: x\r\na: ${'b'.repeat(40_000)}\r\n\r\n`,
  'a long address': `GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  'bytes above ASCII': 'GET /h\u00e9 HTTP/1.1\r\nHost: \u00ff\r\n\u00e9: \u00e9\r\n\r\n',
  'a handshake of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'a command of Redis': '*1\r\n$4\r\nPING\r\n',
  'nothing but line ends': '\r\n'.repeat(2_000),
  'an expectation':
    'POST /api/batches HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9999999\r\n\r\n',
  'an unknown expectation':
    'POST /api/batches HTTP/1.1\r\nHost: x\r\nExpect: x\r\nContent-Length: 3\r\n\r\nabc',
  'a body that is not sent completely': post(
    'Content-Type: application/json\r\nContent-Length: 60000',
    '{"a":',
  ),
};

const EDITS: readonly ((text: string, at: number, byte: string) => string)[] = [
  (text, at) => text.slice(0, at),
  (text, at, byte) => text.slice(0, at) + byte + text.slice(at),
  (text, at, byte) => text.slice(0, at) + byte + text.slice(at + 1),
  (text, at) => text.slice(0, at) + text.slice(at + 1),
];

/** Connections with malformed HTTP, hidden requests, and requests that end in the middle. */
export const rawRequests: fc.Arbitrary<RawFuzz> = fc
  .tuple(
    fc.constantFrom(...Object.keys(SHAPES)),
    fc.constantFrom<RawFuzz['end'][]>('waits', 'closes', 'breaks'),
    fc.option(fc.tuple(fc.constantFrom(...EDITS), fc.nat(), fc.nat(255)), { nil: null }),
    fc.constantFrom(1, 1, 1, 30),
  )
  .map(([kind, end, edit, times]): RawFuzz => {
    const text = SHAPES[kind] ?? '';
    const edited = edit ? edit[0](text, edit[1] % text.length, String.fromCharCode(edit[2])) : text;
    const bytes = Buffer.from(edited.repeat(times), 'latin1');
    // An edit may turn one message into two valid ones.
    return {
      kind,
      bytes,
      end,
      hidesRequest: text.startsWith('POST') && text.includes(HIDDEN) && edit === null,
    };
  })
  .filter(({ bytes }) => bytes.length < 200_000);

/** How long a client waits for an answer; the server may wait longer for the rest of a request. */
const PATIENCE_MS = 150;

/** Writes the bytes to a connection of their own. @returns the statuses of all answers. */
export function sendRawFuzz(gateway: string, { bytes, end }: RawFuzz): Promise<number[]> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(gateway);
    const socket = connect(Number(port), hostname);
    let received = '';
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(
        [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)]
          .map(([, status]) => Number(status))
          .filter((s) => s !== 100),
      );
    };
    const timer = setTimeout(finish, PATIENCE_MS);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', finish);
    socket.on('close', finish);
    socket.write(bytes, () => {
      if (end === 'closes') socket.end();
      if (end === 'breaks') socket.resetAndDestroy();
    });
  });
}
