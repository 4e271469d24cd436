import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compress, compressForClients, decompress } from '../../src/results/compression.ts';

const bytes = (options: { minLength?: number; maxLength: number }) =>
  fc.uint8Array(options).map((array) => Buffer.from(array));

test('a body for clients is gzip, unless it is small', async () => {
  await fc.assert(
    fc.asyncProperty(
      bytes({ minLength: 1, maxLength: 50 }),
      fc.integer({ min: 1, max: 5_000 }),
      async (part, times) => {
        const body = Buffer.concat(Array.from({ length: times }, () => part));
        const { encoding, bytes: packed } = await compressForClients(body);
        expect(encoding).toBe(body.length < 4096 ? 'identity' : 'gzip');
        expect((encoding === 'gzip' ? gunzipSync(packed) : packed).equals(body)).toBe(true);
      },
    ),
    { numRuns: 30 },
  );
});

test('an internal body is the same after compressing and decompressing', async () => {
  await fc.assert(
    fc.asyncProperty(bytes({ maxLength: 50 }), fc.integer({ min: 1, max: 5_000 }), async (part, times) => {
      const body = Buffer.concat(Array.from({ length: times }, () => part));
      expect((await decompress(await compress(body))).equals(body)).toBe(true);
    }),
    { numRuns: 30 },
  );
});
