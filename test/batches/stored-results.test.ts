import { crc32, gunzipSync, gzipSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinPieces, storedPiece } from '../../src/batches/stored-results.ts';
import { appendCrc32 } from '../../src/results/crc32.ts';

async function joined(pieces: readonly Buffer[]): Promise<Buffer> {
  async function* each() {
    yield* pieces;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of joinPieces(each())) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Reads the first gzip member only, as browsers do. */
function firstMember(gzip: Buffer): Buffer {
  return inflateRawSync(gzip.subarray(10, -8));
}

test('the CRC-32 of two concatenated texts follows from the CRC-32 of each', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3_000 }), fc.uint8Array({ maxLength: 3_000 }), (first, second) => {
      expect(appendCrc32(crc32(first), crc32(second), second.length)).toBe(
        crc32(Buffer.concat([first, second])),
      );
    }),
  );
});

test('a stored piece is gzip', async () => {
  for (const text of ['', 'a', 'line\n'.repeat(100_000)])
    expect(gunzipSync(await storedPiece(text)).toString()).toBe(text);
});

test('any pieces together are one gzip member with their concatenated texts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ maxLength: 2_000 }), { maxLength: 8 }), async (texts) => {
      const gzip = await joined(await Promise.all(texts.map(storedPiece)));
      expect(gunzipSync(gzip).toString()).toBe(texts.join(''));
      expect(firstMember(gzip).toString()).toBe(texts.join(''));
    }),
  );
});

test('pieces that were stored by ordinary gzip are joined, too', async () => {
  const gzip = await joined([gzipSync('first\n'), await storedPiece('second\n'), gzipSync('third\n')]);
  expect(firstMember(gzip).toString()).toBe('first\nsecond\nthird\n');
  expect(gunzipSync(gzip).toString()).toBe('first\nsecond\nthird\n');
});

test('the data of stored pieces is sent as it is', async () => {
  const pieces = [await storedPiece('first\n'.repeat(1_000)), await storedPiece('second\n'.repeat(1_000))];
  const gzip = await joined(pieces);
  for (const piece of pieces) expect(gzip.includes(piece.subarray(10, -10))).toBe(true);
});
