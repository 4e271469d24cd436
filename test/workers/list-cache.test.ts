import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { PLENTY } from '../support/scripted-upstream.ts';
import { test } from '../support/souk-test.ts';

const DEALS = [
  { asin: 'B000000001', dealState: 'AVAILABLE', dealPrice: 5 },
  { asin: 'B000000002', dealState: 'EXPIRED', dealPrice: 6 },
];
const BEST_SELLERS = {
  domainId: 1,
  categoryId: 3,
  lastUpdate: 7_000_000,
  asinList: ['B000000001', 'B000000002'],
};

test.for([
  [
    'lightning deals',
    'lightningdeal',
    { lightningDeals: DEALS },
    'lightningdeal?domain=1',
    'lightningDeals.asin',
  ],
  [
    'best sellers',
    'bestsellers',
    { bestSellersList: BEST_SELLERS },
    'bestseller?domain=1&category=3',
    'bestSellersList.asinList',
  ],
] as const)(
  'reads a cached list of %s from the compressed answer of the provider',
  async ([_what, endpoint, payload, path, fields], { souk, client, upstream }) => {
    upstream.on(endpoint, () => ({
      raw: gzipSync(JSON.stringify({ ...PLENTY, ...payload })),
      headers: { 'content-encoding': 'gzip' },
    }));
    const fetched = await client.get(`/api/market/${path}`);
    souk.clock.advance(1);
    // Other fields are another answer, made from the same source.
    const { headers, json } = await client.get(`/api/market/${path}&fields=${fields}`);
    expect(headers['x-cache']).toBe('HIT');
    expect(upstream.calls).toHaveLength(1);
    const [list = '', field = ''] = fields.split('.');
    const asinsOf = (data: Record<string, unknown>) =>
      [data[list]].flat().map((one) => (one as Record<string, unknown>)[field]);
    expect(asinsOf(json.data)).toEqual(asinsOf(fetched.json.data));
    expect(asinsOf(json.data).flat()).toEqual(['B000000001', 'B000000002']);
  },
);
