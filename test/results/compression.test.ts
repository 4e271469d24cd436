import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compress, compressForClients, decompress } from '../../src/results/compression.ts';

const bytes = (options: { minLength?: number; maxLength: number }) =>
  fc.uint8Array(options).map((array) => Buffer.from(array));

test('bodies for clients that differ in their beginning are gzip, unless they are small', async () => {
  await fc.assert(
    fc.asyncProperty(
      bytes({ minLength: 1, maxLength: 50 }),
      fc.integer({ min: 1, max: 5_000 }),
      async (part, times) => {
        const body = Buffer.concat(Array.from({ length: times }, () => part));
        const pack = await compressForClients(body);
        for (const head of ['', '{"fromCache":true', '{"livemode":false,"fromCache":false']) {
          const { encoding, bytes: packed } = pack(Buffer.from(head));
          expect(encoding).toBe(body.length < 4096 ? 'identity' : 'gzip');
          const whole = Buffer.concat([Buffer.from(head), body]);
          expect((encoding === 'gzip' ? gunzipSync(packed) : packed).equals(whole)).toBe(true);
        }
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
