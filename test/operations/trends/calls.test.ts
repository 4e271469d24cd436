import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Client, Reply } from '../../support/client.ts';
import type { UpstreamAnswer, UpstreamCall } from '../../support/scripted-upstream.ts';
import { openSouk, type Souk, showLogOnFailure } from '../../support/souk.ts';
import { guarded, REFUSALS } from '../../support/trends-client.ts';
import { unitsUsed } from '../../support/units.ts';

const EXPLORE = 'trends/api/explore';
const SERIES = 'trends/api/widgetdata/multiline';
const MAP = 'trends/api/widgetdata/comparedgeo';
const RELATED = 'trends/api/widgetdata/relatedsearches';
const LIST = '_/TrendsUi/data/batchexecute';
const FEED = 'trending/rss';

const HOUR_MS = 3_600_000;

let souk: Souk;
let client: Client;
let explored = 0;
beforeEach(async () => {
  souk = await openSouk();
  client = await souk.client();
  explored = 0;
  const { upstream } = souk;
  upstream.on('trends/explore', () => REFUSALS.gate);
  upstream.on(EXPLORE, explore);
  upstream.on(SERIES, ({ params }) => {
    const keywords = JSON.parse(params.req ?? '').keywords as string[];
    const value = keywords.map((_, i) => 100 - i);
    const point = { time: '1772323200', formattedTime: 'Mar', value, hasData: value.map(() => true) };
    return guarded({ default: { timelineData: [point], averages: [] } });
  });
  upstream.on(MAP, () =>
    guarded({ default: { geoMapData: [{ geoCode: 'US-CA', geoName: 'C', value: [100], hasData: [true] }] } }),
  );
  upstream.on(RELATED, ({ params }) => {
    const { restriction, keywordType } = JSON.parse(params.req ?? '');
    const [{ value: keyword }] = restriction.complexKeywordsRestriction.keyword;
    if (keywordType === 'ENTITY') return guarded({ default: { rankedList: [] } });
    const top = [{ query: `${keyword} lid`, value: 100, formattedValue: '100', link: '/trends/explore?q=x' }];
    return guarded({ default: { rankedList: [{ rankedKeyword: top }, { rankedKeyword: [] }] } });
  });
  upstream.on(LIST, () => listOf('kettle'));
});
afterEach(() => souk.close());

/** The widgets of a question; each answer has other tokens. */
function explore({ params }: UpstreamCall): UpstreamAnswer {
  explored += 1;
  const { comparisonItem } = JSON.parse(params.req ?? '') as { comparisonItem: { keyword: string }[] };
  const keywords = comparisonItem.map(({ keyword }) => keyword);
  const token = `token-${explored}`;
  const related = (id: string, keyword: string, keywordType: string) => ({
    id,
    type: 'fe_related_searches',
    request: { restriction: { complexKeywordsRestriction: { keyword: [{ value: keyword }] } }, keywordType },
    token,
  });
  const [only] = keywords;
  return guarded({
    widgets: [
      { id: 'TIMESERIES', type: 'fe_line_chart', request: { keywords, resolution: 'WEEK' }, token },
      { id: 'GEO_MAP', type: 'fe_geo_chart_explore', request: { keywords, resolution: 'REGION' }, token },
      ...(only && keywords.length === 1 ? [related('RELATED_TOPICS', only, 'ENTITY')] : []),
      ...keywords.map((keyword, i) =>
        related(keywords.length === 1 ? 'RELATED_QUERIES' : `RELATED_QUERIES_${i}`, keyword, 'QUERY'),
      ),
    ],
  });
}

/** A list of trends that began an hour ago. */
function listOf(...titles: string[]): UpstreamAnswer {
  const start = souk.clock.now() / 1000 - 3600;
  const items = titles.map((title) => [
    ...[title, null, 'US', [start], null, null, 500, null, 75, [title], [18], [], title],
  ]);
  return guarded(
    [['wrb.fr', 'i0OFE', JSON.stringify([null, items]), null, null, null, 'generic']],
    ")]}'\n\n",
  );
}

const post = (name: string, body: object, by = client) => by.post(`/api/webtrends/${name}`, body);
const times = (path: string) => souk.upstream.callsTo(path).length;
const refuse = (...paths: string[]) => {
  for (const path of paths) souk.upstream.on(path, () => REFUSALS.captcha);
};

describe.each([
  ['interest-over-time', 'timelineData'],
  ['interest-by-region', 'regions'],
  ['related-queries', 'results'],
  ['related-topics', 'results'],
])('%s', (name, field) => {
  test('charges one unit, and neither charges nor fetches for an identical call', async () => {
    showLogOnFailure(souk);
    const first = await post(name, { keyword: 'kettle' });
    expect(first.status, first.body.toString()).toBe(200);
    expect(first.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'MISS' });
    expect(first.json.data).toMatchObject({ fromCache: false, keywords: ['kettle'], endDate: '2026-03-04' });
    expect(first.json.data[field]).toHaveLength(1);
    const calls = souk.upstream.calls.length;
    const again = await post(name, { keyword: ' kettle,', endDate: '2026-03-04', hl: 'EN-us' });
    expect(again.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
    expect(again.body.equals(first.body)).toBe(true);
    const other = await post(name, { keyword: 'kettle' }, await souk.client());
    expect(other.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
    expect(other.json.data.fromCache).toBe(true);
    expect(souk.upstream.calls.length).toBe(calls);
    expect(await unitsUsed(client)).toBe(1);
  });

  test('refuses invalid parameters without charge, and refuses GET', async () => {
    const reply = await post(name, { keyword: 'a,b,c,d,e,f', geo: 'XX', startDate: '2026-05-05' });
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toMatch(/^keyword: .+; geo: .+/);
    const late = await post(name, { keyword: 'a', startDate: '2026-05-05' });
    expect(late.json.msg).toBe(
      'startDate: must not be in the future: today is 2026-03-04 in UTC; endDate: must not be before startDate, 2026-05-05',
    );
    expect((await client.get(`/api/webtrends/${name}?keyword=a`)).status).toBe(405);
    expect(souk.upstream.calls).toEqual([]);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('returns stale data with their age while upstream refuses, and fresh data afterwards', async () => {
    await post(name, { keyword: 'kettle' });
    souk.clock.advance(2 * HOUR_MS);
    refuse(SERIES, MAP, RELATED);
    const stale = await post(name, { keyword: 'kettle' });
    expect(stale.status, stale.body.toString()).toBe(200);
    expect(stale.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
    expect(stale.json.metadata).toEqual({
      stale: true,
      fetchedAt: '2026-03-04T10:00:00.000Z',
      ageSeconds: 7200,
    });
    expect(stale.json.data).toMatchObject({ fromCache: true });
    expect(stale.json.data[field]).toHaveLength(1);

    souk.clock.advance(HOUR_MS);
    souk.upstream.on(SERIES, () => guarded({ default: { timelineData: [], averages: [] } }));
    souk.upstream.on(MAP, () => guarded({ default: { geoMapData: [] } }));
    souk.upstream.on(RELATED, () => guarded({ default: { rankedList: [] } }));
    const fresh = await post(name, { keyword: 'kettle' }, await souk.client());
    expect(fresh.headers['x-cache']).toBe('MISS');
    expect(fresh.json.metadata).toBeUndefined();
  });

  test('returns 502 and releases the unit if upstream refuses and nothing is stored', async () => {
    refuse(EXPLORE);
    const { status, json, headers } = await post(name, { keyword: 'kettle' });
    expect(status).toBe(502);
    expect(json).toMatchObject({ code: 'UPSTREAM_ERROR', metadata: { errorId: expect.any(String) } });
    expect(headers['x-units-consumed']).toBe('0');
    const closed = await post(name, { keyword: 'pot' });
    expect([closed.status, closed.headers['retry-after']]).toEqual([502, '600']);
    expect(times(EXPLORE)).toBe(1);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('returns 504, hangs up and releases the unit if upstream never answers', async () => {
    souk.upstream.on(EXPLORE, () => new Promise<never>(() => {}));
    const reply = post(name, { keyword: 'kettle' });
    await expect.poll(() => times(EXPLORE)).toBe(1);
    souk.clock.advance(60_000);
    expect([(await reply).status, (await reply).json.code]).toEqual([504, 'UPSTREAM_TIMEOUT']);
    await expect.poll(() => souk.upstream.callsTo(EXPLORE)[0]?.aborted).toBe(true);
    expect(await unitsUsed(client)).toBe(0);
  });
});

test('explores the same keywords and window once a day for all operations', async () => {
  const body = { keyword: ['kettle'], geo: 'US', startDate: '2026-01-01', endDate: '2026-02-01' };
  for (const name of ['interest-over-time', 'interest-by-region', 'related-queries', 'related-topics']) {
    expect((await post(name, body)).status).toBe(200);
  }
  expect([times(EXPLORE), times(SERIES), times(MAP), times(RELATED)]).toEqual([1, 1, 1, 2]);
  souk.clock.advance(23 * HOUR_MS);
  await post('interest-over-time', { ...body, timezone: 480 });
  expect([times(EXPLORE), times(SERIES)]).toEqual([1, 2]);
  expect(souk.upstream.callsTo(SERIES)[1]?.params).toMatchObject({ token: 'token-1', tz: '-480' });
  souk.clock.advance(HOUR_MS + 1);
  await post('interest-over-time', body);
  expect(times(EXPLORE)).toBe(2);
});

test('keeps an answer for its own hour, even if its explore is older', async () => {
  const body = { keyword: ['kettle'] };
  await post('interest-over-time', body);
  souk.clock.advance(5 * HOUR_MS);
  const { json } = await post('interest-over-time', body);
  expect(json).toMatchObject({ data: { fromCache: false } });
  expect(json.metadata).toBeUndefined();
  souk.clock.advance(HOUR_MS - 1000);
  const other = await post('interest-over-time', body, await souk.client());
  expect(other.headers['x-cache']).toBe('HIT');
  expect([times(EXPLORE), times(SERIES)]).toEqual([1, 2]);
});

test('replaces a refused token for all calls', async () => {
  await post('interest-over-time', { keyword: 'kettle' });
  souk.clock.advance(2 * HOUR_MS);
  const tokens: (string | undefined)[] = [];
  souk.upstream.on(SERIES, ({ params }) => {
    tokens.push(params.token);
    if (params.token === 'token-1') return REFUSALS.staleToken;
    return guarded({ default: { timelineData: [], averages: [] } });
  });
  expect((await post('interest-over-time', { keyword: 'kettle' })).status).toBe(200);
  souk.clock.advance(2 * HOUR_MS);
  expect((await post('interest-over-time', { keyword: 'kettle' })).status).toBe(200);
  expect(tokens).toEqual(['token-1', 'token-2', 'token-2']);
});

test('explores once for several tokens that are refused one after the other', async () => {
  const keywords = ['pot', 'kettle', 'cup', 'lid', 'tea'];
  await post('interest-over-time', { keyword: keywords });
  souk.clock.advance(60_000);
  const refused: string[] = [];
  souk.upstream.on(RELATED, async ({ params }) => {
    const [{ value }] = JSON.parse(params.req ?? '').restriction.complexKeywordsRestriction.keyword;
    if (params.token !== 'token-1') return guarded({ default: { rankedList: [] } });
    // Each is refused only when the one before has got its new token.
    const before = refused.length;
    await expect.poll(() => before === 0 || times(EXPLORE) > 1).toBe(true);
    refused.push(value);
    return REFUSALS.staleToken;
  });
  expect((await post('related-queries', { keyword: keywords })).status).toBe(200);
  expect(times(EXPLORE)).toBe(2);
});

test('fetches related queries of several keywords with one explore and concurrent calls', async () => {
  let waiting = 0;
  let open = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  souk.upstream.on(RELATED, async ({ params }) => {
    waiting += 1;
    if (waiting === 3) open();
    await all;
    const [{ value }] = JSON.parse(params.req ?? '').restriction.complexKeywordsRestriction.keyword;
    const top = [{ query: value, value: 100, formattedValue: '100' }];
    return guarded({ default: { rankedList: [{ rankedKeyword: top }, {}] } });
  });
  const { json, headers } = await post('related-queries', { keyword: 'pot,kettle,cup' });
  expect(headers['x-units-consumed']).toBe('1');
  expect(json.data.results.map(({ top }: { top: { query: string }[] }) => top[0]?.query)).toEqual([
    ...['pot', 'kettle', 'cup'],
  ]);
  expect([times(EXPLORE), times(RELATED)]).toEqual([1, 3]);
});

test('does not fetch answered keywords again after another one failed', async () => {
  const asked: string[] = [];
  let isBroken = true;
  souk.upstream.on(RELATED, ({ params }) => {
    const [{ value }] = JSON.parse(params.req ?? '').restriction.complexKeywordsRestriction.keyword;
    asked.push(value);
    if (isBroken && value === 'pot') return REFUSALS.gone;
    return guarded({ default: { rankedList: [] } });
  });
  expect((await post('related-queries', { keyword: 'kettle,pot' })).status).toBe(502);
  await expect.poll(() => asked.length).toBe(2);
  isBroken = false;
  expect((await post('related-queries', { keyword: 'kettle,pot' })).status).toBe(200);
  expect(asked.filter((keyword) => keyword === 'pot')).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(1);
});

test('returns 200 with available: false for topics that upstream withholds', async () => {
  const { status, json } = await post('related-topics', { keyword: 'kettle,pot' });
  expect(status).toBe(200);
  expect(json.data).toMatchObject({
    available: false,
    results: [
      { keyword: 'kettle', available: false, top: [], rising: [] },
      { keyword: 'pot', available: false, top: [], rising: [] },
    ],
  });
  expect(times(EXPLORE)).toBe(2);
  expect(await unitsUsed(client)).toBe(1);
});

test('leaves the resolution within a country to upstream and returns the one used', async () => {
  const own = await post('interest-by-region', { keyword: 'kettle', geo: 'us' });
  expect(own.json.data).toMatchObject({ resolution: 'REGION', geo: 'US', valueMode: 'index' });
  const cities = await post('interest-by-region', { keyword: 'kettle', geo: 'us', resolution: 'CITY' });
  expect(cities.json.data.resolution).toBe('CITY');
  expect(souk.upstream.callsTo(MAP).map(({ params }) => JSON.parse(params.req ?? '').resolution)).toEqual([
    ...['REGION', 'CITY'],
  ]);
});

test('refuses an unknown region by name, without charge', async () => {
  souk.upstream.on(EXPLORE, () => REFUSALS.badRequest);
  const { status, json, headers } = await post('interest-over-time', { keyword: 'kettle', geo: 'US-QQ' });
  expect(status).toBe(400);
  expect(json).toMatchObject({ code: 'VALIDATION_FAILED', metadata: { errors: [{ parameter: 'geo' }] } });
  expect(headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(0);
});

test('uses a new window on a new day', async () => {
  await post('interest-over-time', { keyword: 'kettle' });
  souk.clock.advance(13.9 * HOUR_MS);
  await post('interest-over-time', { keyword: 'kettle' });
  souk.clock.advance(0.2 * HOUR_MS);
  const { json } = await post('interest-over-time', { keyword: 'kettle' }, await souk.client());
  expect(json.data).toMatchObject({ startDate: '2025-03-05', endDate: '2026-03-05', fromCache: false });
  expect(times(EXPLORE)).toBe(2);
});

describe('trends', () => {
  const queries = ({ json }: Reply) => json.data.trends.map(({ query }: { query: string }) => query);
  const daily = (query = '', by = client) => by.get(`/api/webtrends/daily-trends${query}`);
  const realTime = (query = '', by = client) => by.get(`/api/webtrends/real-time-trends${query}`);
  const feed = () => {
    const pubDate = new Date(souk.clock.now() - HOUR_MS).toUTCString();
    const item = `<item><title>from the feed</title><approx_traffic>10000+</approx_traffic><pubDate>${pubDate}</pubDate></item>`;
    return { raw: `<rss><channel>${item}</channel></rss>`, contentType: 'text/xml' };
  };

  test('are kept for an hour for a day, for a minute in real time', async () => {
    const first = await daily();
    expect(first.json.data).toMatchObject({ geo: 'US', trendDate: '2026-03-04', source: 'trending_now' });
    expect(queries(first)).toEqual(['kettle']);
    expect(queries(await realTime())).toEqual(['kettle']);
    souk.clock.advance(61_000);
    const other = await souk.client();
    expect((await daily('', other)).headers['x-cache']).toBe('HIT');
    expect((await realTime('', other)).headers['x-cache']).toBe('MISS');
    souk.clock.advance(59_000);
    expect((await realTime('', await souk.client())).headers).toMatchObject({
      'x-cache': 'HIT',
      'x-units-consumed': '1',
    });
    expect(times(LIST)).toBe(3);
  });

  test('come from the feed if the list fails', async () => {
    souk.upstream.on(LIST, () => REFUSALS.gone);
    souk.upstream.on(FEED, feed);
    for (const reply of [await daily(), await realTime()]) {
      expect(reply.json.data).toMatchObject({
        source: 'rss',
        trends: [
          {
            query: 'from the feed',
            formattedTraffic: '10K+',
            increasePercentage: null,
            endedAt: null,
            active: null,
            categories: null,
            relatedQueries: [],
          },
        ],
      });
    }
  });

  test('of another day or a category do not come from the feed', async () => {
    souk.upstream.on(LIST, () => REFUSALS.gone);
    souk.upstream.on(FEED, feed);
    expect((await daily('?trendDate=2026-03-01')).status).toBe(502);
    expect((await realTime('?category=b')).status).toBe(502);
    expect(times(FEED)).toBe(0);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('are returned with their age while upstream refuses', async () => {
    await daily();
    await realTime();
    souk.clock.advance(2 * HOUR_MS);
    refuse(LIST, FEED);
    for (const reply of [await daily(), await realTime()]) {
      expect(queries(reply)).toEqual(['kettle']);
      expect(reply.json.metadata).toMatchObject({ stale: true, ageSeconds: 7200 });
    }
    expect((await realTime()).json.data.updatedAt).toBe('2026-03-04T10:00:00.000Z');
  });

  test('of a day too long ago are refused without charge', async () => {
    const { status, json } = await daily('?trendDate=2026-02-24');
    expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(json.msg).toBe(
      'trendDate: must be a day from 2026-02-25 to 2026-03-04: older trends are not kept',
    );
    expect(await unitsUsed(client)).toBe(0);
  });

  test('of an unknown region are refused by name', async () => {
    souk.upstream.on(LIST, () =>
      guarded([['wrb.fr', 'i0OFE', null, null, null, [3], 'generic']], ")]}'\n\n"),
    );
    expect((await daily('?geo=us-qq')).json.msg).toMatch(/^geo: US-QQ is not a region/);
    expect((await realTime('?geo=us-qq')).status).toBe(400);
    expect(await unitsUsed(client)).toBe(0);
  });
});

test('returns stale data to an asynchronous call', async () => {
  await post('interest-over-time', { keyword: 'kettle' });
  souk.clock.advance(2 * HOUR_MS);
  refuse(SERIES);
  const headers = { prefer: 'respond-async' };
  const { json } = await client.post('/api/webtrends/interest-over-time', { keyword: 'kettle' }, { headers });
  const result = await client.get(`/api/jobs/${json.data.jobId}/result?wait=30`);
  expect(result.json.metadata).toMatchObject({ stale: true });
});

test('refuses an unknown language by name', async () => {
  for (const hl of ['und', 'mul', 'en-XX']) {
    const { status, json } = await post('interest-over-time', { keyword: 'kettle', hl });
    expect([status, json.msg]).toEqual([400, 'hl: must be a language such as en-US, zh-CN or ja']);
  }
});

test('returns 502 for trends with impossible times, and does not store them', async () => {
  const item = ['kettle', null, 'US', [1e15], null, null, 500, null, 75, ['kettle'], [18], [], 'kettle'];
  const row = ['wrb.fr', 'i0OFE', JSON.stringify([null, [item]]), null, null, null, 'generic'];
  souk.upstream.on(LIST, () => guarded([row], ")]}'\n\n"));
  for (const name of ['daily-trends', 'real-time-trends']) {
    expect((await client.get(`/api/webtrends/${name}`)).status).toBe(502);
  }
  souk.upstream.on(LIST, () => listOf('kettle'));
  expect((await client.get('/api/webtrends/daily-trends')).status).toBe(200);
});

test('returns 502 for an explore with excessive nesting, and recovers at the next call', async () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  const widget = `{"id":"TIMESERIES","type":"fe_line_chart","request":${deep},"token":"t"}`;
  souk.upstream.on(EXPLORE, () => ({ ...guarded({}), raw: `)]}'\n{"widgets":[${widget}]}` }));
  expect((await post('interest-over-time', { keyword: 'kettle' })).status).toBe(502);
  souk.upstream.on(EXPLORE, explore);
  expect((await post('interest-over-time', { keyword: 'kettle' })).status).toBe(200);
});

test('returns the result of an asynchronous job', async () => {
  const { status, json } = await client.post(
    '/api/webtrends/interest-over-time',
    { keyword: 'kettle' },
    { headers: { prefer: 'respond-async' } },
  );
  expect(status).toBe(202);
  const result = await client.get(`/api/jobs/${json.data.jobId}/result?wait=30`);
  expect(result.json.data.keywords).toEqual(['kettle']);
});
