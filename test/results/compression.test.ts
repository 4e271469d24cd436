import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compress, decompress, packAfter } from '../../src/results/compression.ts';

const bytes = (options: { minLength?: number; maxLength: number }) =>
  fc.uint8Array(options).map((array) => Buffer.from(array));

test('a body that is compressed once can follow each of several compressed headers', async () => {
  const rests = fc.tuple(bytes({ minLength: 1, maxLength: 50 }), fc.integer({ min: 1, max: 5_000 }));
  await fc.assert(
    fc.asyncProperty(fc.array(bytes({ maxLength: 300 })), rests, async (beginnings, [part, times]) => {
      const rest = Buffer.concat(Array.from({ length: times }, () => part));
      const pack = await packAfter(rest);
      for (const beginning of [Buffer.alloc(0), ...beginnings, Buffer.alloc(65_535, 'x')]) {
        const { encoding, bytes: packed } = pack(beginning);
        const body = Buffer.concat([beginning, rest]);
        expect(encoding).toBe(rest.length < 4096 ? 'identity' : 'gzip');
        expect(encoding === 'gzip' ? gunzipSync(packed).equals(body) : packed.equals(body)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

test('a body of price histories is compressed to about half', async () => {
  const rest = Buffer.from(
    Array.from({ length: 20_000 }, (_, i) => 7_000_000 + ((i * 7919) % 65_537)).join(','),
  );
  const { bytes: packed } = (await packAfter(rest))(Buffer.from('['));
  expect(packed.length).toBeLessThan(rest.length * 0.55);
  expect(gunzipSync(packed).toString()).toBe(`[${rest.toString()}`);
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
