import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect } from 'vitest';
import type { Product } from '../../../src/operations/products/product.ts';
import { parseJson, stringifyJson } from '../../../src/platform/json.ts';
import { test } from '../../support/shared-souk-test.ts';

/** Answers recorded from the real provider. They are not ours to keep here, so without them these tests are skipped. */
const FOLDER = resolve('../shared/fixtures/keepa');

const wireOf = (file: string) => readFileSync(join(FOLDER, file), 'utf8');

describe.skipIf(!existsSync(FOLDER))('recorded answers (where ../shared/fixtures/keepa exists)', () => {
  test('150 deals are returned unchanged, also ids beyond 2^53', async ({ souk }) => {
    const wire = wireOf('deal-us-150-2025-04-30.json');
    souk.upstream.on('deal', () => ({ raw: wire }));
    const client = await souk.client();
    const { status, body } = await client.post('/api/market/deal', { domainId: 1 });
    expect(status).toBe(200);
    const { data } = parseJson(body.toString()) as {
      data: { deals: { dr: unknown[]; categoryIds: unknown[] } };
    };
    const sent = parseJson(wire) as { deals: typeof data.deals };
    expect(data.deals.dr).toHaveLength(150);
    expect(stringifyJson(data.deals)).toBe(stringifyJson(sent.deals));
    expect(data.deals.categoryIds).toContain(9223372036854775807n);
    expect(souk.upstream.callsTo('deal')[0]).toMatchObject({
      body: '{"domainId":1,"priceTypes":[0],"sortType":4,"dateRange":1,"page":0}',
      params: { key: expect.any(String) },
    });
  });

  test('a recorded product returns its whole recorded family', async ({ souk }) => {
    const recorded = parseJson(wireOf('product-us-variations-stats-2025-11.json')) as {
      products?: Product[];
    };
    const product = recorded.products?.[0] ?? (recorded as unknown as Product);
    souk.upstream.on('product', ({ params }) => ({
      raw: stringifyJson({
        timestamp: 1,
        products: (params.asin ?? '').split(',').map((asin) => ({ ...product, asin })),
      }),
    }));
    const client = await souk.client();
    const address = `/api/market/variations?domain=1&asin=${product.asin}`;
    const { data } = (await client.get(`${address}&detailLevel=summary`)).json;
    const members = product.variations as { asin: string }[];
    expect(data.variationsCount).toBe(members.length);
    expect(data.variations.map(({ asin }: { asin: string }) => asin)).toEqual(
      members.map(({ asin }) => asin),
    );
    expect(data.variations[0].stats.price).toBeTypeOf('number');
    const full = (await client.get(address)).json.data.variations[0];
    expect(full.csv.slice(0, product.csv?.length)).toEqual(product.csv);
  });
});
