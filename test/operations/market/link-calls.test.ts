import { describe, expect } from 'vitest';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { rows, words } from '../../support/words.ts';

// Links are built without a worker.
test.override('soukOptions', { workers: 0 });

describe('chart links', () => {
  const CHART = '/api/market/charturl';

  test('are built from asin, then asins, without duplicates, in upper case', async ({ client }) => {
    const reply = await client.get(
      `${CHART}?country=DE&asin=b00linked1&asins=B00LINKED2,B00LINKED1&asins=B00LINKED3`,
    );
    expect(reply.headers['x-units-consumed']).toBe('0');
    expect(reply.json.data).toEqual({
      country: 'de',
      domainId: 3,
      count: 3,
      pluginDownloadUrl: expect.stringMatching(/^https:\/\/charts\.test\//),
      notice: expect.stringMatching(/account.*plugin/),
      items: ['B00LINKED1', 'B00LINKED2', 'B00LINKED3'].map((asin) => ({
        asin,
        url: `https://charts.test/market/product?country=de&asin=${asin}`,
      })),
    });
  });

  test('are built for 1000 ASINs, and refused for 1001', async ({ client }) => {
    const asins = Array.from({ length: 1001 }, (_, i) => `B${String(i).padStart(9, '0')}`);
    const thousand = await client.get(`${CHART}?domain=1&asins=${asins.slice(1).join(',')}`);
    expect([thousand.status, thousand.json.data.count]).toEqual([200, 1000]);
    const tooMany = await client.get(`${CHART}?domain=1&asins=${asins.join(',')}`);
    expect([tooMany.status, tooMany.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(tooMany.json.msg).toContain('1000');
  });

  test.for([
    ['no ASIN', 'domain=1', 'asins'],
    ['a path', 'domain=1&asin=../../../..', 'asins'],
    ['an empty ASIN', 'domain=1&asin=', 'asins'],
    ['a short ASIN', 'domain=1&asin=B00', 'asins'],
    ['an ASIN with an invalid character', 'domain=1&asins=B00LINKED1,B00LINKE-2', 'asins'],
    ['no site', 'asin=B00LINKED1', 'domain'],
    ['a site that does not exist', 'domain=7&asin=B00LINKED1', 'domain'],
    ['sites that do not agree', 'domain=1&country=uk&asin=B00LINKED1', 'domain'],
  ] as const)('are refused for %s', async ([_what, query, parameter], { client }) => {
    const reply = await client.get(`${CHART}?${query}`);
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.metadata?.errors).toEqual([expect.objectContaining({ parameter })]);
  });
});

describe('image links', () => {
  const IMAGE = '/api/retail/imageurl';

  test('are built from image and images, in the given order, without duplicates', async ({ client }) => {
    const names = ['71Abc+d-EfL.jpg', '41xyz._SL160_.PNG', 'swatch_1.gif'];
    const query = new URLSearchParams([
      ['domainId', '5'],
      ['image', names[0] ?? ''],
      ['images', `${names[1]},${names[0]}`],
      ['images', names[2] ?? ''],
    ]);
    const reply = await client.get(`${IMAGE}?${query.toString()}`);
    expect(reply.json.data).toEqual({
      country: 'jp',
      domainId: 5,
      count: 3,
      items: names.map((image) => ({ image, url: `https://images.test/images/I/${image}` })),
    });
  });

  test('keep the case and the characters of names', async ({ client }) => {
    const names = words('a.jpg A.jpg A.JPG 41xKl+Qw-L.jpg 61_a~b.jpeg x.png x.gif x.webp pic._AC_1500_.jpg');
    const query = new URLSearchParams({ domain: '1', images: names.join() }).toString();
    const { data } = (await client.get(`${IMAGE}?${query}`)).json;
    expect(data.items.map(({ image }: { image: string }) => image)).toEqual(names);
  });

  test.for(
    rows(`
      /x.jpg                  | must be a file name without a path
      images/I/x.jpg          | must be a file name without a path
      ..\\x.jpg               | must be a file name without a path
      ..x.jpg                 | must be a file name without a path
      https://images.test/x.jpg | must be a file name without a path
      x                       | must end in an image extension such as .jpg
      x.                      | must end in an image extension such as .jpg
      x.jpg.exe               | must end in an image extension such as .jpg
      x.html                  | must end in an image extension such as .jpg
      x.jpg?a=1               | must end in an image extension such as .jpg
      jpg                     | must end in an image extension such as .jpg
      a b.jpg                 | must contain only letters, digits and + . _ ~ -
      a%2Fb.jpg               | must contain only letters, digits and + . _ ~ -
      %2e%2e.jpg              | must contain only letters, digits and + . _ ~ -
      x?y.jpg                 | must contain only letters, digits and + . _ ~ -
      x#y.jpg                 | must contain only letters, digits and + . _ ~ -
      <script>.jpg            | must contain only letters, digits and + . _ ~ -
    `),
  )('are refused for the name %s, which %s', async ([image = '', problem], { client }) => {
    const query = new URLSearchParams({ domain: '1', images: `ok.jpg,${image}` }).toString();
    const reply = await client.get(`${IMAGE}?${query}`);
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toContain(`images: item 2 ${problem}`);
  });

  test.for([
    ['no name', '', 'is required: it must be 1 to 1000 file names'],
    ['an empty name', '&images=', 'is empty'],
    ['a long name', `&image=${'x'.repeat(300)}.jpg`, 'item 1 must contain only letters'],
    [
      'more than 1,000 names',
      `&image=a.jpg&images=${Array.from({ length: 1000 }, (_, i) => `${i}.jpg`).join()}`,
      'must be 1 to 1000 file names, got 1001',
    ],
  ] as const)('are refused for %s', async ([_what, query, problem], { client }) => {
    const { status, json } = await client.get(`${IMAGE}?domain=1${query}`);
    expect([status, json.msg]).toEqual([400, expect.stringContaining(`images: ${problem}`)]);
  });
});

test('links cost no units and do not count as calls', async ({ souk }) => {
  const client = await souk.client({ plan: { minuteLimit: 1 } });
  for (const path of ['market/charturl?domain=1&asin=B00LINKED1', 'retail/imageurl?domain=1&image=a.jpg']) {
    const reply = await client.get(`/api/${path}`);
    expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, '0']);
  }
  expect(await unitsUsed(client)).toBe(0);
  const { rows } = await souk.database.query('select from calls');
  expect(rows).toEqual([]);
});
