import { expect } from 'vitest';
import type { Reply } from '../../support/client.ts';
import type { ScriptedUpstream } from '../../support/scripted-upstream.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

/** The tokens that the provider charges for a page. */
const PAGE_TOKENS = 10;

const address = (term: string, more = '') => `/api/market/productsearch?domain=1&term=${term}${more}`;
const asinOf = (n: number) => `B${String(n).padStart(9, '0')}`;
const asinsTo = (end: number) => Array.from({ length: end }, (_, n) => asinOf(n));
const shownIn = ({ json }: Reply) => json.data.products.map(({ asin }: { asin: string }) => asin);
const pagesAsked = (upstream: ScriptedUpstream) =>
  upstream
    .callsTo('search')
    .map(({ params }) => Number(params.page))
    .sort((a, b) => a - b);

/** The provider finds `count` products, on pages of ten, and refuses one page. */
function finds(upstream: ScriptedUpstream, count: number, refused?: number): void {
  upstream.on('search', ({ params }) => {
    if (Number(params.page) === refused) return { status: 400, json: { error: { type: 'refused' } } };
    const first = Number(params.page) * 10;
    const asins = asinsTo(count).slice(first, first + 10);
    const found = params['asins-only'] ? { asinList: asins } : { products: asins.map((asin) => ({ asin })) };
    return { json: { ...found, tokensConsumed: PAGE_TOKENS } };
  });
}

test.for<[found: number, pages: number[]]>([
  [0, [0]],
  [9, [0]],
  [10, [0, 1, 2, 3]],
  [34, [0, 1, 2, 3]],
  [45, [0, 1, 2, 3, 4, 5, 6]],
  [100, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
])('returns %i results in order, and asks for the pages %j', async ([found, pages], { client, upstream }) => {
  finds(upstream, found);
  const reply = await client.get(address(`found-${found}`));
  expect(reply.status, reply.body.toString()).toBe(200);
  expect(shownIn(reply)).toEqual(asinsTo(found));
  expect(reply.json.data.count).toBe(found);
  expect(reply.headers['x-units-consumed']).toBe('5');
  expect(pagesAsked(upstream)).toEqual(pages);
});

test('returns the ASINs of a page with asinsOnly', async ({ client, upstream }) => {
  finds(upstream, 23);
  const { json } = await client.get(address('only', '&asinsOnly=1'));
  expect(json.data.asinList).toEqual(asinsTo(23));
});

test("returns an empty page beyond the provider's 100 results, for free", async ({ client, upstream }) => {
  finds(upstream, 100);
  for (const repetition of [1, 2]) {
    const reply = await client.get(address('beyond', `&page=1&historyDays=${repetition}`));
    expect([reply.status, reply.json.data.products]).toEqual([200, []]);
    expect(reply.headers['x-units-consumed']).toBe('0');
  }
  expect(upstream.callsTo('search')).toEqual([]);
  expect(await unitsUsed(client)).toBe(0);
});

test('reserves units for an empty page of another account too', async ({ souk }) => {
  const [one, two] = await Promise.all([souk.client(), souk.client()]);
  await one.get(address('reserved', '&page=9'));
  const reply = await two.get(address('reserved', '&page=9'));
  const { rows } = await souk.database.query(
    'select units_reserved, units_charged from calls where id = $1',
    [reply.headers['x-job-id']],
  );
  expect(rows).toEqual([{ units_reserved: 5, units_charged: 0 }]);
});

test('fetches each page once an hour, for all levels and accounts', async ({ souk, client, upstream }) => {
  finds(upstream, 25);
  await client.get(address('cached'));
  expect(pagesAsked(upstream)).toEqual([0, 1, 2, 3]);
  souk.clock.advance(60_000);
  const other = await souk.client();
  const full = await other.get(address('cached', '&detailLevel=full'));
  expect(full.json.data).toMatchObject({ count: 25, fromCache: true });
  expect(upstream.callsTo('search')).toHaveLength(4);
});

test('shows a product once that moved to the next page between two fetches', async ({ client, upstream }) => {
  upstream.on('search', ({ params }) => {
    const asins = params.page === '0' ? asinsTo(10) : [asinOf(9), asinOf(10)];
    return { json: { products: asins.map((asin) => ({ asin })) } };
  });
  expect(shownIn(await client.get(address('moved')))).toEqual(asinsTo(11));
});

test.for<[where: string, repeated: number]>([
  ['on its first page', 9],
  ['on two pages', 10],
  ['on the last page of a step', 30],
])('returns all results if the provider repeats one %s', async ([where, repeated], { client, upstream }) => {
  const asins = asinsTo(45).toSpliced(repeated, 0, asinOf(repeated - 1));
  upstream.on('search', ({ params }) => {
    const first = Number(params.page) * 10;
    return { json: { products: asins.slice(first, first + 10).map((asin) => ({ asin })) } };
  });
  expect(shownIn(await client.get(address(where.replaceAll(' ', '+'))))).toEqual(asinsTo(45));
});

test('stops at a provider that repeats its results on every page', async ({ client, upstream }) => {
  upstream.on('search', () => ({ json: { products: asinsTo(20).map((asin) => ({ asin })) } }));
  expect(shownIn(await client.get(address('repeated')))).toEqual(asinsTo(20));
  expect(pagesAsked(upstream)).toEqual([0, 1, 2, 3]);
});

test('answers 502 at no charge if a page fails, asks only for it later', async ({ client, upstream }) => {
  finds(upstream, 45, 5);
  const failed = await client.get(address('partly'));
  expect([failed.status, failed.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
  expect(await unitsUsed(client)).toBe(0);

  upstream.calls.length = 0;
  finds(upstream, 45);
  expect(shownIn(await client.get(address('partly')))).toEqual(asinsTo(45));
  expect(pagesAsked(upstream)).toContain(5);
  expect(pagesAsked(upstream)).not.toContain(3);
});

test('asks for three pages at a time, and releases at the deadline', async ({ souk, client, upstream }) => {
  upstream.on('search', ({ params }) =>
    params.page === '0'
      ? { json: { products: asinsTo(10).map((asin) => ({ asin })) } }
      : new Promise<'handled'>(() => {}),
  );
  const reply = client.get(address('held'));
  await upstream.received(4, 'search');
  expect(pagesAsked(upstream)).toEqual([0, 1, 2, 3]);
  souk.clock.advance(60_000);
  expect([(await reply).status, (await reply).headers['x-units-consumed']]).toEqual([504, '0']);
});

test('counts the tokens of all pages', async ({ souk, client, upstream }) => {
  finds(upstream, 12);
  const { headers } = await client.get(address('tokens'));
  const spent = souk.events.seen('tokens.spent', { callId: String(headers['x-job-id']) });
  expect(spent.map(({ tokens }) => tokens)).toEqual(Array(4).fill(PAGE_TOKENS));
});
