import zlib from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../src/platform/json.ts';
import { decodeSource, encodeSource, noteAnswer } from '../../src/results/cache.ts';

const instant = fc.integer({ min: 0, max: 2 ** 45 });

test('returns any JSON unchanged, compressed or not', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), instant, fc.constantFrom(1, 2_000), async (json, fetchedAt, times) => {
      const value = times === 1 ? json : Array.from({ length: times }, () => json);
      const stored = await decodeSource(await encodeSource({ value, fetchedAt, tokens: 1.5 }));
      expect([stored.fetchedAt, stored.tokens]).toEqual([fetchedAt, 1.5]);
      expect(stringifyJson(stored.value)).toBe(stringifyJson(value));
    }),
    { numRuns: 100 },
  );
});

test('keeps all digits of an integer beyond 2^53', async () => {
  const text = '{"id":9007199254740993123}';
  const { value } = await decodeSource(
    await encodeSource({ value: parseJson(text), fetchedAt: 1, tokens: 1 }),
  );
  expect(stringifyJson(value)).toBe(text);
});

test('returns a picture byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 10_000 }), instant, async (bytes, fetchedAt) => {
      const value = Buffer.from(bytes);
      expect(await decodeSource(await encodeSource({ value, fetchedAt, tokens: 1.5 }))).toEqual({
        value,
        fetchedAt,
        tokens: 1.5,
      });
    }),
    { numRuns: 50 },
  );
});

test('stores that upstream has no data', async () => {
  expect(await decodeSource(await encodeSource({ value: null, fetchedAt: 7, tokens: 1 }))).toEqual({
    value: null,
    fetchedAt: 7,
    tokens: 1,
  });
});

test.each([
  ['gzip', zlib.gzipSync],
  ['br', zlib.brotliCompressSync],
] as const)("stores the provider's own answer in %s, and reads the value from it", async (encoding, pack) => {
  const answer = { tokensLeft: 5, products: [{ asin: 'B000000001', id: 1 }] };
  const [value] = answer.products as [object];
  const bytes = pack(Buffer.from(JSON.stringify(answer)));
  noteAnswer(value, { encoding, bytes });
  const read = (found: unknown) => (found as typeof answer).products[0];
  const stored = await encodeSource({ value, fetchedAt: 7, tokens: 1 }, read);
  expect(stored.subarray(-bytes.length)).toEqual(bytes);
  expect(await decodeSource(stored, read)).toEqual({ value, fetchedAt: 7, tokens: 1 });
});

test('stores the value itself if its source cannot be read from an answer, or it has no answer', async () => {
  const value = { asin: 'B000000001' };
  noteAnswer(value, { encoding: 'gzip', bytes: Buffer.from('not used') });
  const never = () => expect.fail('there is no answer to read');
  expect((await decodeSource(await encodeSource({ value, fetchedAt: 7, tokens: 1 }))).value).toEqual(value);
  const other = { asin: 'B000000002' };
  const stored = await encodeSource({ value: other, fetchedAt: 7, tokens: 1 }, never);
  expect((await decodeSource(stored, never)).value).toEqual(other);
});
