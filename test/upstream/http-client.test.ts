import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import zlib from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BodyTooLargeError, createHttpClient } from '../../src/upstream/http-client.ts';

const MAX_BYTES = 100_000;
const TEXT = Buffer.from(JSON.stringify({ data: 'price '.repeat(5_000) }));

const COMPRESS = {
  gzip: zlib.gzipSync,
  'x-gzip': zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: zlib.brotliCompressSync,
} as const;

type Encoding = keyof typeof COMPRESS;

let answer: (response: ServerResponse) => void;
const server = createServer((_request, response) => answer(response));
const client = createHttpClient({ connections: 1 });

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(async () => {
  await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function send(headOnly = false) {
  const { port } = server.address() as AddressInfo;
  const { signal } = new AbortController();
  const url = new URL(`http://127.0.0.1:${port}/`);
  return client.send({ method: 'GET', url, signal, maxBytes: MAX_BYTES, headOnly });
}

function answerWith(encoding: Encoding | null, bytes: Buffer): void {
  answer = (response) => {
    if (encoding) response.setHeader('content-encoding', encoding);
    response.end(bytes);
  };
}

describe.each(Object.keys(COMPRESS) as Encoding[])('%s', (encoding) => {
  test('is decompressed', async () => {
    answerWith(encoding, COMPRESS[encoding](TEXT));
    expect((await send()).body).toEqual(TEXT);
  });

  test('is refused if it decompresses to more than the limit', async () => {
    answerWith(encoding, COMPRESS[encoding](Buffer.alloc(MAX_BYTES + 1)));
    await expect(send()).rejects.toThrow(BodyTooLargeError);
  });

  test('is refused if it ends early, and the next request is answered', async () => {
    answerWith(encoding, COMPRESS[encoding](TEXT).subarray(0, 30));
    await expect(send()).rejects.toThrow();
    answerWith(encoding, COMPRESS[encoding](TEXT));
    expect((await send()).body).toEqual(TEXT);
  });

  test('may be empty', async () => {
    answerWith(encoding, Buffer.alloc(0));
    expect((await send()).body).toHaveLength(0);
  });
});

test('returns the bytes as they were sent, if a source can be stored in their encoding', async () => {
  for (const encoding of ['gzip', 'br'] as const) {
    const bytes = COMPRESS[encoding](TEXT);
    answerWith(encoding, bytes);
    expect((await send()).compressed).toEqual({ encoding, bytes });
  }
  for (const encoding of ['deflate', null] as const) {
    answerWith(encoding, encoding ? COMPRESS[encoding](TEXT) : TEXT);
    expect((await send()).compressed).toBeNull();
  }
});

test('refuses a body that is larger than the limit, and answers the next request', async () => {
  answerWith(null, Buffer.alloc(MAX_BYTES + 1));
  await expect(send()).rejects.toThrow(BodyTooLargeError);
  answerWith(null, TEXT);
  expect((await send()).body).toEqual(TEXT);
});

test('does not decompress a body that it leaves unread', async () => {
  answerWith('gzip', COMPRESS.gzip(TEXT));
  expect(await send(true)).toMatchObject({ status: 200, compressed: null });
});
