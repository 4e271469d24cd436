import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import type { Product } from '../../../src/operations/products/product.ts';
import { parseJson, stringifyJson } from '../../../src/platform/json.ts';
import { TestClock } from '../../support/clock.ts';
import { conforming, createConformance } from '../../support/conformance.ts';
import { test as base } from '../../support/souk-test.ts';

/** Answers recorded from the real provider. Their licence keeps them out of the repository, so tests skip them if absent. */
const FOLDER = resolve('../shared/fixtures/keepa');
const hasRecordings = existsSync(FOLDER);

const wireOf = (file: string) => readFileSync(join(FOLDER, file), 'utf8');

const products: { file: string; product: Product }[] = (hasRecordings ? readdirSync(FOLDER) : [])
  .filter((file) => file.startsWith('product-'))
  .map((file) => {
    const recorded = parseJson(wireOf(file)) as { products?: Product[] };
    return { file, product: recorded.products?.[0] ?? (recorded as unknown as Product) };
  });

/** Each answer to the client is compared with the document. */
const conformance = createConformance(openApiDocument());
const test = base
  .extend('soukOptions', { scope: 'file' }, { clock: new TestClock(Date.parse('2026-06-01T00:00:00Z')) })
  .extend('client', ({ souk, account, upstream: _ }) => conforming(souk.clientOf(account.key), conformance));

describe.skipIf(!hasRecordings)(
  'recorded answers fit the document (if ../shared/fixtures/keepa exists)',
  () => {
    test('the folder has recordings', () => {
      expect(products.length).toBeGreaterThanOrEqual(6);
    });

    test.for(products)('$file', async ({ product }, { souk, client }) => {
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

    test('a recorded answer with 150 deals', async ({ souk, client }) => {
      souk.upstream.on('deal', () => ({ raw: wireOf('deal-us-150-2025-04-30.json') }));
      const { status, json } = await client.post('/api/market/deal', { domainId: 1 });
      expect([status, json.data.deals.dr.length]).toEqual([200, 150]);
    });
  },
);
