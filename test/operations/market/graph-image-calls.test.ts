import sharp from 'sharp';
import { describe, expect } from 'vitest';
import { drawsPictures, newAsin, picture } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import type { Script } from '../../support/scripted-upstream.ts';
import { test } from '../../support/shared-souk-test.ts';
import type { Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';

const GRAPH = '/api/market/graphimage';
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

test.beforeEach(({ souk }) => souk.upstream.on('graphimage', drawsPictures));

test('returns a PNG of the requested size, from upstream, then from the cache', async ({ souk, client }) => {
  const path = `${GRAPH}?domain=1&asin=b00graph01&width=640&height=320`;
  const first = await client.get(path);
  expect(first.status).toBe(200);
  expect(first.headers).toMatchObject({
    'content-type': 'image/png',
    'content-length': String(first.body.length),
    'x-cache': 'MISS',
    'x-units-consumed': '1',
    'x-response-time': expect.stringMatching(/^\d+ms$/),
  });
  expect(first.body.subarray(0, 8)).toEqual(PNG_SIGNATURE);
  expect(await sharp(first.body).metadata()).toMatchObject({ format: 'png', width: 640, height: 320 });

  const again = await client.get(path, { headers: { 'accept-encoding': 'gzip' } });
  expect(again.headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': '0' });
  const other = await (await souk.client()).get(path);
  expect(other.headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': '1' });
  expect([again, other].map(({ body }) => body.equals(first.body))).toEqual([true, true]);
  expect(souk.upstream.calls).toHaveLength(1);
});

test('has the same pixels as the picture of upstream after re-encoding', async ({ client }) => {
  const reply = await client.get(`${GRAPH}?domain=1&asin=B00GRAPH02`);
  const drawn = await picture(500, 200);
  const pixels = (bytes: Buffer) => sharp(bytes).removeAlpha().raw().toBuffer();
  const [shown, original] = await Promise.all([pixels(reply.body), pixels(drawn)]);
  expect(shown.length).toBe(original.length);
  // Colours may differ slightly, because a palette rounds them.
  const differences = new Set(shown.map((value, i) => Math.abs(value - (original[i] ?? 0))));
  expect(Math.max(...differences)).toBeLessThanOrEqual(2);
  expect(reply.body.length).toBeLessThanOrEqual(drawn.length);
});

describe('parameters', () => {
  const paramsFor = async (souk: Souk, client: Client, query: string) => {
    const reply = await client.get(`${GRAPH}?${query}`);
    expect(reply.status).toBe(200);
    const { key: _, ...params } = souk.upstream.calls.at(-1)?.params ?? {};
    return params;
  };
  const DEFAULTS = {
    domain: '1',
    range: '90',
    width: '500',
    height: '200',
    yzoom: '1',
    amazon: '1',
    new: '1',
    used: '0',
    salesrank: '0',
    bb: '0',
    fba: '0',
    fbm: '0',
    ld: '0',
    wd: '0',
  };

  test("are accepted in any case, and sent upstream by the provider's names", async ({ souk, client }) => {
    const query = [
      'DOMAIN=1&Asin=b00graph04&Retailer=0&NEW=false&used=1&SalesRank=true&bb=1&FBA=1&fbm=1&ld=1&wd=1&YZoom=0',
      'Range=31&cBackground=%23FFFFFF&CFONT=000000&cretailer=ff9900&cNew=111111&cused=222222&csales=333333',
      'cfba=444444&cfbm=555555&cbb=666666&cld=777777&cwd=88888a',
    ].join('&');
    expect(await paramsFor(souk, client, query)).toEqual({
      ...DEFAULTS,
      asin: 'B00GRAPH04',
      range: '31',
      amazon: '0',
      new: '0',
      yzoom: '0',
      used: '1',
      salesrank: '1',
      bb: '1',
      fba: '1',
      fbm: '1',
      ld: '1',
      wd: '1',
      cBackground: 'ffffff',
      cFont: '000000',
      cAmazon: 'ff9900',
      cNew: '111111',
      cUsed: '222222',
      cSales: '333333',
      cFBA: '444444',
      cFBM: '555555',
      cBB: '666666',
      cLD: '777777',
      cWD: '88888a',
    });
  });

  test('are dropped if they are unknown, and do not change the picture', async ({ souk, client }) => {
    const known = await paramsFor(souk, client, 'domain=1&asin=B00GRAPH05');
    const calls = souk.upstream.calls.length;
    const unknown = ['title=0', 'amazon=0', 'update=1', '__proto__=x', 'constructor=y', 'toString=z'].join(
      '&',
    );
    expect(await paramsFor(souk, client, `domain=1&asin=B00GRAPH05&${unknown}`)).toEqual(known);
    expect(souk.upstream.calls).toHaveLength(calls);
  });
});

test('resizes a picture that does not have the requested size', async ({ souk, client }) => {
  souk.upstream.on('graphimage', async () => ({ raw: await picture(499, 180), contentType: 'image/png' }));
  const { status, body } = await client.get(`${GRAPH}?domain=1&asin=${newAsin()}&width=500&height=200`);
  expect(status).toBe(200);
  expect(await sharp(body).metadata()).toMatchObject({ format: 'png', width: 500, height: 200 });
});

describe('returns 502 as JSON at no charge if upstream does not return the requested picture:', () => {
  const png = (bytes: Buffer | string, contentType = 'image/png') => ({ raw: bytes, contentType });

  test.for<[string, Script]>([
    ['a truncated picture', async () => png((await picture(500, 200)).subarray(0, -60))],
    ['the beginning of a picture', () => png(PNG_SIGNATURE)],
    ['an empty picture', () => png('')],
    ['a web page with the content type of a PNG', () => png('<html>no chart today</html>')],
    [
      'a JPEG with the content type of a PNG',
      async () =>
        png(
          await sharp(await picture(500, 200))
            .jpeg()
            .toBuffer(),
        ),
    ],
    ['a PNG with the content type of a web page', async () => png(await picture(500, 200), 'text/html')],
    ['a picture of 11 MiB', () => png(Buffer.alloc(11 * 1024 * 1024))],
    ['an error with status 200', () => ({ json: { error: { type: 'internal', message: 'no chart' } } })],
    ['an error with status 400', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } })],
    ['a web page with status 404', () => ({ status: 404, ...png('gone', 'text/html') })],
  ])('%s', async ([_what, script], { souk, client }) => {
    const path = `${GRAPH}?domain=1&asin=${newAsin()}`;
    souk.upstream.on('graphimage', script);
    const reply = await client.get(path);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect([reply.status, reply.json.code, reply.json.data]).toEqual([502, 'UPSTREAM_ERROR', null]);
    expect(reply.json.metadata).toEqual({ errorId: expect.any(String) });
    expect(reply.headers['x-units-consumed']).toBe('0');
    expect(await unitsUsed(client)).toBe(0);

    // The failure is not cached either.
    souk.upstream.on('graphimage', drawsPictures);
    const again = await client.get(path);
    expect([again.status, again.headers['x-cache']]).toEqual([200, 'MISS']);
  });
});
