import { expect } from 'vitest';
import type { UpstreamCall } from '../../support/scripted-upstream.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const PARENT = 'P000000001';
const MEMBERS = Array.from({ length: 5 }, (_, i) => `M00000000${i}`);

test.beforeEach(({ souk, upstream }) => {
  souk.clock.advance(3_700_000);
  upstream.on('product', ({ params }) => ({ json: { products: asinsOf(params).map(productOf) } }));
});

const asinsOf = (params: UpstreamCall['params']) => (params.asin ?? '').split(',');

/** A family whose children do not carry its list, so that the parent must be asked. */
function productOf(asin: string) {
  if (asin === PARENT) {
    const variations = MEMBERS.map((member, i) => ({
      asin: member,
      image: `${member}.jpg`,
      attributes: [{ dimension: 'Color', value: `colour ${i}` }],
    }));
    return { asin, productType: 5, title: 'The family', variations };
  }
  const current = Array.from({ length: 36 }, (_, i) => 100 + i);
  return {
    asin,
    productType: 0,
    title: `Thing ${asin}`,
    parentAsin: MEMBERS.includes(asin) ? PARENT : null,
    csv: [[1, 2, 3, 4]],
    images: [{ l: `${asin}-1.jpg` }, { l: `${asin}-2.jpg` }],
    itemHighlights: ['not for the summary'],
    reviews: { ratingCount: [1, 10, 2, 20], reviewCount: [1, 30, 2, 40] },
    stats: { current },
    monthlySold: 50,
    lastUpdate: 7,
    ...(asin === MEMBERS[0] ? { upcList: ['012345678905'], eanList: null } : { upcList: null, gtinList: [] }),
  };
}

test.for([PARENT, MEMBERS[2]])('returns the whole family for %s', async (asin, { client }) => {
  const { json, headers } = await client.get(
    `/api/market/variations?domain=1&asin=${asin}&detailLevel=summary`,
  );
  expect(headers['x-units-consumed']).toBe('5');
  expect(json.data).toMatchObject({
    country: 'us',
    domainId: 1,
    inputAsin: asin,
    parentAsin: PARENT,
    isStandalone: false,
    variationsCount: 5,
    responseShape: { detailLevel: 'summary' },
  });
  expect(json.data.variations.map((record: { asin: string }) => record.asin)).toEqual(MEMBERS);
  expect(json.data).not.toHaveProperty('_pagination');
});

test('summary has selected fields and named statistics', async ({ client }) => {
  const { json } = await client.get(`/api/market/variations?domain=1&asin=${PARENT}&detailLevel=summary`);
  expect(json.data.variations[0]).toEqual({
    asin: MEMBERS[0],
    title: `Thing ${MEMBERS[0]}`,
    color: 'colour 0',
    size: null,
    swatchImage: `${MEMBERS[0]}.jpg`,
    imagesCSV: `${MEMBERS[0]}-1.jpg,${MEMBERS[0]}-2.jpg`,
    stats: {
      price: 101,
      amazonPrice: 100,
      listPrice: 104,
      buyboxPrice: 118,
      bsr: 103,
      rating: 116,
      reviewCount: 117,
      countNew: 111,
    },
    monthlySold: 50,
    parentAsin: PARENT,
    upcList: ['012345678905'],
    lastUpdate: 7,
  });
  expect(json.data.variations[1]).not.toHaveProperty('upcList');
});

test.for(['summary', 'lite', 'full'])('lists codes of members with some at %s', async (level, { client }) => {
  const { json } = await client.get(`/api/market/variations?domain=1&asin=${PARENT}&detailLevel=${level}`);
  const [first, second] = json.data.variations;
  expect(first).toMatchObject({ upcList: ['012345678905'] });
  expect(first).not.toHaveProperty('eanList');
  expect(second).not.toHaveProperty('upcList');
  expect(second).not.toHaveProperty('gtinList');
});

test('lite leaves out csv and keeps the latest review counts, and full is unchanged', async ({ client }) => {
  const address = `/api/market/variations?domain=1&asin=${PARENT}`;
  const lite = (await client.get(`${address}&detailLevel=lite`)).json.data.variations[0];
  expect(lite).not.toHaveProperty('csv');
  expect(lite).toMatchObject({
    reviews: { ratingCount: [2, 20], reviewCount: [2, 40] },
    itemHighlights: ['not for the summary'],
    stats: { current: expect.any(Array) },
  });
  const full = (await client.get(address)).json.data.variations[0];
  expect(full.csv[0]).toEqual([1, 2, 3, 4]);
  expect(full).toMatchObject({ reviews: { ratingCount: [1, 10, 2, 20] } });
});

test('charges each page and detail level separately, and fetches each member once an hour with history and once without', async ({
  souk,
  client,
}) => {
  const address = `/api/market/variations?domain=1&asin=${MEMBERS[0]}`;
  const queries = [
    '&perPage=2',
    '&perPage=2&page=1',
    '&perPage=2&page=2',
    '&detailLevel=lite',
    '&detailLevel=summary',
  ];
  for (const query of queries) {
    expect((await client.get(address + query)).headers['x-units-consumed']).toBe('5');
  }
  expect(await unitsUsed(client)).toBe(5 * queries.length);
  const asked = souk.upstream.callsTo('product');
  const of = (history: string, rating: string | undefined) =>
    asked
      .filter(({ params }) => params.history === history && params.rating === rating)
      .flatMap(({ params }) => asinsOf(params));
  // The family is found with one token for a product, for all levels and pages.
  expect(of('0', undefined)).toEqual([MEMBERS[0], PARENT]);
  expect(of('1', '1')).toEqual(MEMBERS);
  expect(of('0', '1')).toEqual(MEMBERS);
});

test.for([
  ['summary', '0'],
  ['lite', '1'],
  ['full', '1'],
] as const)(
  'requests members at %s with history=%s, and with rating and Buy Box, which the level shows',
  async ([level, history], { souk, client }) => {
    await client.get(`/api/market/variations?domain=1&asin=${PARENT}&detailLevel=${level}`);
    const [, ofMembers] = souk.upstream.callsTo('product');
    expect(ofMembers?.params).toMatchObject({
      asin: MEMBERS.join(','),
      stats: '90',
      history,
      rating: '1',
      buybox: '1',
    });
  },
);

test.for([1, 2, 3, 5, 7])('pages of %i together are the whole family', async (perPage, { client }) => {
  const found: string[] = [];
  for (let page = 0; page * perPage < 5; page += 1) {
    const address = `/api/market/variations?domain=1&asin=${PARENT}&perPage=${perPage}&page=${page}`;
    const { data } = (await client.get(address)).json;
    found.push(...data.variations.map((record: { asin: string }) => record.asin));
    const paging = { page, perPage, total: 5, totalPages: Math.ceil(5 / perPage) };
    expect(data._pagination).toEqual(perPage >= 5 ? undefined : paging);
  }
  expect(found).toEqual(MEMBERS);
});

test('a product without variations is the only member, costs 1 of 5 reserved units', async ({ client }) => {
  const { json, headers } = await client.post('/api/market/variations', { domain: 1, asin: 'S000000001' });
  expect(headers['x-units-consumed']).toBe('1');
  expect(await unitsUsed(client)).toBe(1);
  expect(json.data).toMatchObject({ parentAsin: null, isStandalone: true, variationsCount: 1 });
  expect(json.data.variations[0].asin).toBe('S000000001');
});

test('returns 404 at no charge for a parent without a product record', async ({ souk, client }) => {
  souk.upstream.on('product', ({ params }) => ({
    json: { products: asinsOf(params).flatMap((asin) => (asin === PARENT ? [] : productOf(asin))) },
  }));
  const { status, json } = await client.get(`/api/market/variations?domain=1&asin=${MEMBERS[1]}`);
  expect(status).toBe(404);
  expect(json).toMatchObject({ code: 'PRODUCT_NOT_FOUND' });
  expect(json.msg).toContain('No product data');
  expect(await unitsUsed(client)).toBe(0);
});

test('returns a family of 400 members at full detail', async ({ souk, client }) => {
  const members = Array.from({ length: 400 }, (_, i) => `L${String(i).padStart(9, '0')}`);
  souk.upstream.on('product', ({ params }) => ({
    json: {
      products: asinsOf(params).map((asin) => ({
        ...productOf(asin),
        parentAsin: 'LARGE00000',
        variations: members.map((member) => ({ asin: member, attributes: [] })),
      })),
    },
  }));
  const { status, json } = await client.get(`/api/market/variations?domain=1&asin=${members[7]}`);
  expect(status).toBe(200);
  // The answer lists the family, so its members do not.
  expect(json.data.variations.some((member: object) => 'variations' in member)).toBe(false);
  expect(json.data.variationsCount).toBe(400);
  expect(json.data.variations.map(({ asin }: { asin: string }) => asin).sort()).toEqual(members);
  expect(json.data.variations.every(({ csv }: { csv: unknown }) => Array.isArray(csv))).toBe(true);
});
