import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { repetitions } from '../../support/repetitions.ts';
import type { Script } from '../../support/scripted-upstream.ts';
import { test } from '../../support/shared-souk-test.ts';
import type { Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';
import { words } from '../../support/words.ts';

let timestamp = 0;
function envelope(payload: string): string {
  timestamp += 1;
  return `{"timestamp":${timestamp},"tokensLeft":9000,"refillIn":1000,"refillRate":300,${payload}}`;
}

function lookUp(souk: Souk, client: Client, script: Script, level = 'full') {
  souk.upstream.on('product', script);
  return client.get(`/api/market/product?domain=1&asins=${newAsin()}&detailLevel=${level}`);
}

describe('integers beyond 2^53', () => {
  /** A product as JSON text with unusual numbers. */
  const withNumbers =
    (numbers: readonly string[]): Script =>
    ({ params }) => ({
      raw: envelope(
        `"products":[{"asin":"${params.asin}","title":"T","categories":[${numbers.join()}],"rootCategory":${numbers[0]}}]`,
      ),
    });

  test('keep all digits for any value', async ({ souk, client }) => {
    const integer = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String);
    await fc.assert(
      fc.asyncProperty(fc.array(integer, { minLength: 1, maxLength: 20 }), async (numbers) => {
        const reply = await lookUp(souk, client, withNumbers(numbers));
        expect(reply.body.toString()).toContain(
          `"categories":[${numbers.join()}],"rootCategory":${numbers[0]}`,
        );
      }),
      { numRuns: 25 },
    );
  });
});

test('returns 502 without retry or charge for an answer that inflates too far', async ({ souk, client }) => {
  const bomb = gzipSync(Buffer.alloc(129 * 1024 * 1024, ' '));
  const before = souk.upstream.calls.length;
  const reply = await lookUp(souk, client, () => ({ raw: bomb, headers: { 'content-encoding': 'gzip' } }));
  expect([reply.status, reply.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
  expect(souk.upstream.calls).toHaveLength(before + 1);
  expect(await unitsUsed(client)).toBe(0);
});

test('returns HTML and all characters of a product unchanged', async ({ souk, client }) => {
  const title = '<b>Größe "M"</b> — 日本 🎉 \u2028 \\ \u0000 </script>';
  const reply = await lookUp(
    souk,
    client,
    ({ params }) => ({ json: { products: [{ asin: params.asin, title }] } }),
    'summary',
  );
  expect(reply.json.data.products[0].title).toBe(title);
});

const anything = fc.anything({
  maxDepth: 3,
  withNullPrototype: false,
  values: [fc.constantFrom(null, true, -1, 'text', 1e300, ''), fc.integer(), fc.string()],
});
const FIELDS = words(`
  asin title brand csv stats salesRanks images imagesCSV offers liveOffersOrder reviews productType
  parentAsin monthlySold lastUpdate couponHistory buyBoxSellerIdHistory
`);

test('reports a product with malformed fields and returns all others', async ({ souk, client }) => {
  const oddProduct = fc.dictionary(fc.constantFrom(...FIELDS), anything, { maxKeys: 8 });
  const options = fc.constantFrom(
    'days=30',
    'offers=3',
    'stats=5&days=1',
    'dateRangeStart=0&dateRangeEnd=1',
    '',
  );
  const query = fc.oneof(
    fc.constantFrom('detailLevel=summary', 'detailLevel=summary&offers=3'),
    fc
      .tuple(fc.constantFrom('lite', 'full'), options)
      .map(([level, option]) => `detailLevel=${level}&${option}`),
  );
  await fc.assert(
    fc.asyncProperty(oddProduct, query, async (odd, parameters) => {
      const [good, bad] = [newAsin(), newAsin()];
      souk.upstream.on('product', () => ({
        json: {
          products: [
            { asin: bad, ...odd },
            { asin: good, title: 'Good' },
          ],
        },
      }));
      const path = `/api/market/product?domain=1&asins=${good},${bad}&${parameters}`;
      const reply = await client.get(path);
      expect([reply.status, reply.json.code]).toEqual([200, '0000']);
      const shown = reply.json.data.products.map(({ asin }: { asin: string }) => asin);
      expect(shown).toContain(good);
      expect(reply.json.data.products.length + reply.json.data.errors.length).toBe(2);
    }),
    // On a busy machine fewer attempts are possible.
    { numRuns: repetitions(40), interruptAfterTimeLimit: 20_000 },
  );
});
