import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import type { Product } from '../../../src/operations/products/product.ts';
import { parseJson, stringifyJson } from '../../../src/platform/json.ts';
import type { Client } from '../../support/client.ts';
import { TestClock } from '../../support/clock.ts';
import { conforming, createConformance } from '../../support/conformance.ts';
import { openSouk, type Souk } from '../../support/souk.ts';

/** Answers recorded from the real provider. They are not ours to keep here, so without them these tests are skipped. */
const FOLDER = resolve('../shared/fixtures/keepa');
const hasRecordings = existsSync(FOLDER);

const wireOf = (file: string) => readFileSync(join(FOLDER, file), 'utf8');

const products: { file: string; product: Product }[] = (hasRecordings ? readdirSync(FOLDER) : [])
  .filter((file) => file.startsWith('product-'))
  .map((file) => {
    const recorded = parseJson(wireOf(file)) as { products?: Product[] };
    return { file, product: recorded.products?.[0] ?? (recorded as unknown as Product) };
  });

describe.skipIf(!hasRecordings)(
  'recorded data fit the document (where ../shared/fixtures/keepa exists)',
  () => {
    let souk: Souk;
    let client: Client;
    beforeAll(async () => {
      souk = await openSouk({ clock: new TestClock(Date.parse('2026-06-01T00:00:00Z')) });
      client = conforming(await souk.client(), createConformance(openApiDocument()));
    });
    afterAll(() => souk.close());

    test('there are some', () => {
      expect(products.length).toBeGreaterThanOrEqual(6);
    });

    test.each(products)('$file', async ({ product }) => {
      souk.upstream.on('product', ({ params }) => ({
        raw: stringifyJson({
          timestamp: 1,
          products: (params.asin ?? '').split(',').map((asin) => ({ ...product, asin })),
        }),
      }));
      const site = `domain=${product.domainId}`;
      const options = 'stats=90&offers=20&rating=1';
      for (const level of ['summary', 'lite', 'full']) {
        for (const address of [
          `/api/market/product?${site}&asins=${product.asin}&detailLevel=${level}&${options}`,
          `/api/market/variations?${site}&asin=${product.asin}&detailLevel=${level}`,
        ]) {
          expect({ address, status: (await client.get(address)).status }).toEqual({ address, status: 200 });
        }
      }
    });

    test('150 deals', async () => {
      souk.upstream.on('deal', () => ({ raw: wireOf('deal-us-150-2025-04-30.json') }));
      const { status, json } = await client.post('/api/market/deal', { domainId: 1 });
      expect([status, json.data.deals.dr.length]).toEqual([200, 150]);
    });
  },
);
