import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test as base, expect } from 'vitest';
import { isSealed, openSealed, sealStream } from '../../src/platform/sealed-stream.ts';

const [KEY, OTHER] = ['the-key-of-an-installation-of-souk', 'the-key-of-some-other-installation'];
const PIECE = 65_536;
const [HEADER, STORED] = [44, PIECE + 16];

const test = base.extend('folder', async ({ task: _task }, { onCleanup }) => {
  const folder = await mkdtemp(join(tmpdir(), 'souk-sealed-'));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  return folder;
});

async function all(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function sealed(content: Buffer, chunk = 50_000): Promise<Buffer> {
  const chunks = Array.from({ length: Math.ceil(content.length / chunk) }, (_, i) =>
    content.subarray(i * chunk, (i + 1) * chunk),
  );
  return all(sealStream(Readable.from(chunks), KEY));
}

async function opened(folder: string, bytes: Buffer, keys = [KEY]): Promise<Buffer> {
  const file = join(folder, 'file');
  await writeFile(file, bytes);
  return all(openSealed(file, keys));
}

test.for([0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 7])(
  'returns the %i bytes that were encrypted, with one of several keys',
  async (size, { folder }) => {
    const content = randomBytes(size);
    const stored = await sealed(content, 1 + (size % 70_001));
    expect((await opened(folder, stored, [OTHER, KEY])).equals(content)).toBe(true);
    expect(await isSealed(join(folder, 'file'))).toBe(true);
    if (size > 16) expect(stored.includes(content.subarray(0, 16))).toBe(false);
  },
);

test('two files of one content have nothing in common', async () => {
  const content = Buffer.alloc(PIECE);
  const [a, b] = [await sealed(content), await sealed(content)];
  expect(a.subarray(HEADER, HEADER + 16)).not.toEqual(b.subarray(HEADER, HEADER + 16));
});

const pieceOf = (bytes: Buffer, i: number) => bytes.subarray(HEADER + i * STORED, HEADER + (i + 1) * STORED);

test.for<[string, (bytes: Buffer) => Buffer]>([
  ['ends within its header', (bytes) => bytes.subarray(0, 20)],
  ['ends after its header', (bytes) => bytes.subarray(0, HEADER)],
  ['ends after a whole piece', (bytes) => bytes.subarray(0, HEADER + 2 * STORED)],
  ['ends within a piece', (bytes) => bytes.subarray(0, HEADER + STORED + 100)],
  ['lacks its last byte', (bytes) => bytes.subarray(0, -1)],
  ['goes on', (bytes) => Buffer.concat([bytes, Buffer.from('x')])],
  ['goes on with its last piece', (bytes) => Buffer.concat([bytes, bytes.subarray(HEADER + 2 * STORED)])],
  [
    'has two pieces in another order',
    (bytes) =>
      Buffer.concat([
        bytes.subarray(0, HEADER),
        pieceOf(bytes, 1),
        pieceOf(bytes, 0),
        bytes.subarray(HEADER + 2 * STORED),
      ]),
  ],
  ['lacks a piece', (bytes) => Buffer.concat([bytes.subarray(0, HEADER), bytes.subarray(HEADER + STORED)])],
  ['has another salt', (bytes) => flipped(bytes, 20)],
  ['has another bit', (bytes) => flipped(bytes, HEADER + STORED + 1_000)],
  ['has another mark of a piece', (bytes) => flipped(bytes, bytes.length - 1)],
])('refuses a file that %s', async ([_, damage], { folder }) => {
  const bytes = damage(await sealed(randomBytes(2 * PIECE + 500)));
  await expect(opened(folder, bytes)).rejects.toThrow(
    /^(is damaged or incomplete: piece|ends within its header)/,
  );
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

test('refuses a file that another key has encrypted, before it reads a piece', async ({ folder }) => {
  const bytes = (await sealed(randomBytes(10))).subarray(0, HEADER);
  await expect(opened(folder, bytes, [OTHER])).rejects.toThrow(
    /encrypted with a key that SECRET_KEY does not have/,
  );
});

test('holds a few pieces at a time, however long the stream is', async ({ folder }) => {
  let [made, taken, most] = [0, 0, 0];
  async function* source() {
    for (let i = 0; i < 500; i += 1) {
      made += 1;
      most = Math.max(most, made - taken);
      yield Buffer.alloc(PIECE, i);
    }
  }
  for await (const _piece of sealStream(source(), KEY)) taken += 1;
  expect(most).toBeLessThan(5);
  expect(folder).toBeTruthy();
});
