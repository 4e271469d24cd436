import { describe, expect } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/platform/durations.ts';
import type { Client, Reply, RequestOptions } from '../../support/client.ts';
import type {
  Script,
  ScriptedUpstream,
  UpstreamAnswer,
  UpstreamCall,
} from '../../support/scripted-upstream.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { guarded, REFUSALS } from '../../support/trends-client.ts';
import { unitsUsed } from '../../support/units.ts';

const EXPLORE = 'trends/api/explore';
const SERIES = 'trends/api/widgetdata/multiline';
const MAP = 'trends/api/widgetdata/comparedgeo';
const RELATED = 'trends/api/widgetdata/relatedsearches';
const LIST = '_/TrendsUi/data/batchexecute';
const FEED = 'trending/rss';

const nextDayAt10 = (now: number) => (Math.floor(now / DAY_MS) + 1) * DAY_MS + 10 * HOUR_MS;

// On another day the same request has another window, and the pauses after refusals have ended.
test.beforeEach(({ souk, upstream }) => {
  souk.clock.advance(nextDayAt10(souk.clock.now()) - souk.clock.now());
  upstream.on('trends/explore', () => REFUSALS.gate);
  upstream.on(EXPLORE, exploreOf(upstream));
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
    const { keywordType } = JSON.parse(params.req ?? '');
    if (keywordType === 'ENTITY') return NO_RELATED;
    const link = '/trends/explore?q=x';
    const top = [{ query: `${keywordOf(params)} lid`, value: 100, formattedValue: '100', link }];
    return guarded({ default: { rankedList: [{ rankedKeyword: top }, { rankedKeyword: [] }] } });
  });
  upstream.on(LIST, () => listOf(souk, 'kettle'));
  upstream.on(FEED, () => REFUSALS.gone);
});

/** The widgets of a question; each answer has other tokens. */
const exploreOf =
  (upstream: ScriptedUpstream): Script =>
  ({ params }) => {
    const { comparisonItem } = JSON.parse(params.req ?? '') as { comparisonItem: { keyword: string }[] };
    const keywords = comparisonItem.map(({ keyword }) => keyword);
    const token = `token-${upstream.callsTo(EXPLORE).length}`;
    const related = (id: string, keyword: string, keywordType: string) => ({
      id,
      type: 'fe_related_searches',
      request: {
        restriction: { complexKeywordsRestriction: { keyword: [{ value: keyword }] } },
        keywordType,
      },
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
  };

/** A list of trends that began an hour ago. */
function listOf({ clock }: Souk, ...titles: string[]): UpstreamAnswer {
  const start = clock.now() / 1000 - 3600;
  const item = (title: string) =>
    // biome-ignore format: a row of the provider.
    [title, null, 'US', [start], null, null, 500, null, 75, [title], [18], [], title];
  const items = titles.map(item);
  return guarded(
    [['wrb.fr', 'i0OFE', JSON.stringify([null, items]), null, null, null, 'generic']],
    ")]}'\n\n",
  );
}

/** The keyword that a request for related queries or topics asks for. */
function keywordOf(params: UpstreamCall['params']): string {
  return JSON.parse(params.req ?? '').restriction.complexKeywordsRestriction.keyword[0].value;
}

const NO_RELATED = guarded({ default: { rankedList: [] } });

const dayOf = ({ clock }: Souk) => new Date(clock.now()).toISOString().slice(0, 10);
const daysAgo = ({ clock }: Souk, days: number) =>
  new Date(clock.now() - days * DAY_MS).toISOString().slice(0, 10);
const post = (client: Client, name: string, body: object, options?: RequestOptions) =>
  client.post(`/api/webtrends/${name}`, body, options);
const counts = (upstream: ScriptedUpstream, ...paths: string[]) =>
  paths.map((path) => upstream.callsTo(path).length);
const refuse = (upstream: ScriptedUpstream, ...paths: string[]) => {
  for (const path of paths) upstream.on(path, () => REFUSALS.captcha);
};

describe.each([
  ['interest-over-time', 'timelineData'],
  ['interest-by-region', 'regions'],
  ['related-queries', 'results'],
  ['related-topics', 'results'],
])('%s', (name, field) => {
  test('charges one unit; an identical call is not charged or sent', async ({ souk, client, upstream }) => {
    const today = dayOf(souk);
    const first = await post(client, name, { keyword: 'kettle' });
    expect(first.status, first.body.toString()).toBe(200);
    expect(first.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'MISS' });
    expect(first.json.data).toMatchObject({ fromCache: false, keywords: ['kettle'], endDate: today });
    expect(first.json.data[field]).toHaveLength(1);
    const calls = upstream.calls.length;
    const again = await post(client, name, { keyword: ' kettle,', endDate: today, hl: 'EN-us' });
    expect(again.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
    expect(again.body.equals(first.body)).toBe(true);
    const other = await post(await souk.client(), name, { keyword: 'kettle' });
    expect(other.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
    expect(other.json.data.fromCache).toBe(true);
    expect(upstream.calls.length).toBe(calls);
    expect(await unitsUsed(client)).toBe(1);
  });

  test('returns 400 at no charge for invalid parameters, 405 for GET', async ({ souk, client, upstream }) => {
    const reply = await post(client, name, { keyword: 'a,b,c,d,e,f', geo: 'XX', startDate: '2030-05-05' });
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.msg).toMatch(/^keyword: .+; geo: .+/);
    const late = await post(client, name, { keyword: 'a', startDate: '2030-05-05' });
    expect(late.json.msg).toBe(
      `startDate: must not be in the future (today is ${dayOf(souk)} in UTC), got 2030-05-05; endDate: must not be before startDate (2030-05-05), got ${dayOf(souk)}`,
    );
    expect((await client.get(`/api/webtrends/${name}?keyword=a`)).status).toBe(405);
    expect(upstream.calls).toEqual([]);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('returns data up to the age of maxStale while upstream refuses, and fresh data afterwards', async ({
    souk,
    client,
    upstream,
  }) => {
    await post(client, name, { keyword: 'kettle' });
    souk.clock.advance(2 * HOUR_MS);
    refuse(upstream, SERIES, MAP, RELATED);
    for (const refused of [{}, { maxStale: 0 }, { maxStale: 7199 }]) {
      const { status, json, headers } = await post(client, name, { keyword: 'kettle', ...refused });
      expect([status, json.code, headers['x-units-consumed']]).toEqual([502, 'UPSTREAM_ERROR', '0']);
    }
    const stale = await post(client, name, { keyword: 'kettle', maxStale: '7200' });
    expect(stale.status, stale.body.toString()).toBe(200);
    expect(stale.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
    expect(stale.json.metadata).toEqual({
      stale: true,
      fetchedAt: `${dayOf(souk)}T10:00:00.000Z`,
      ageSeconds: 7200,
    });
    expect(stale.json.data).toMatchObject({ fromCache: true });
    expect(stale.json.data[field]).toHaveLength(1);
    expect((await post(client, name, { keyword: 'kettle' })).status).toBe(502);

    souk.clock.advance(HOUR_MS);
    upstream.on(SERIES, () => guarded({ default: { timelineData: [], averages: [] } }));
    upstream.on(MAP, () => guarded({ default: { geoMapData: [] } }));
    upstream.on(RELATED, () => NO_RELATED);
    const fresh = await post(await souk.client(), name, { keyword: 'kettle' });
    expect(fresh.headers['x-cache']).toBe('MISS');
    expect(fresh.json.metadata).toBeUndefined();
  });
});

test('explores keywords and window once a day for all operations', async ({ souk, client, upstream }) => {
  const body = { keyword: ['kettle'], geo: 'US', startDate: '2026-01-01', endDate: '2026-02-01' };
  for (const name of ['interest-over-time', 'interest-by-region', 'related-queries', 'related-topics']) {
    expect((await post(client, name, body)).status).toBe(200);
  }
  expect(counts(upstream, EXPLORE, SERIES, MAP, RELATED)).toEqual([1, 1, 1, 2]);
  souk.clock.advance(23 * HOUR_MS);
  await post(client, 'interest-over-time', { ...body, timezone: 480 });
  expect(counts(upstream, EXPLORE, SERIES)).toEqual([1, 2]);
  expect(upstream.callsTo(SERIES)[1]?.params).toMatchObject({ token: 'token-1', tz: '-480' });
  souk.clock.advance(HOUR_MS + 1);
  await post(client, 'interest-over-time', body);
  expect(upstream.callsTo(EXPLORE)).toHaveLength(2);
});

test('keeps data fresh for an hour from fetch, not explore', async ({ souk, client, upstream }) => {
  const body = { keyword: ['kettle'] };
  await post(client, 'interest-over-time', body);
  souk.clock.advance(5 * HOUR_MS);
  const { json } = await post(client, 'interest-over-time', body);
  expect(json).toMatchObject({ data: { fromCache: false } });
  expect(json.metadata).toBeUndefined();
  souk.clock.advance(HOUR_MS - 1000);
  const other = await post(await souk.client(), 'interest-over-time', body);
  expect(other.headers['x-cache']).toBe('HIT');
  expect(counts(upstream, EXPLORE, SERIES)).toEqual([1, 2]);
});

test('replaces a refused token for all later calls', async ({ souk, client, upstream }) => {
  await post(client, 'interest-over-time', { keyword: 'kettle' });
  souk.clock.advance(2 * HOUR_MS);
  const tokens: (string | undefined)[] = [];
  upstream.on(SERIES, ({ params }) => {
    tokens.push(params.token);
    if (params.token === 'token-1') return REFUSALS.staleToken;
    return guarded({ default: { timelineData: [], averages: [] } });
  });
  expect((await post(client, 'interest-over-time', { keyword: 'kettle' })).status).toBe(200);
  souk.clock.advance(2 * HOUR_MS);
  expect((await post(client, 'interest-over-time', { keyword: 'kettle' })).status).toBe(200);
  expect(tokens).toEqual(['token-1', 'token-2', 'token-2']);
});

test('explores once for tokens that are refused one after another', async ({ souk, client, upstream }) => {
  const keywords = ['pot', 'kettle', 'cup', 'lid', 'tea'];
  await post(client, 'interest-over-time', { keyword: keywords });
  souk.clock.advance(60_000);
  const refused: string[] = [];
  upstream.on(RELATED, async ({ params }) => {
    const value = keywordOf(params);
    if (params.token !== 'token-1') return NO_RELATED;
    // Each is refused only when the one before has got its new token.
    if (refused.length > 0) await upstream.received(2, EXPLORE);
    refused.push(value);
    return REFUSALS.staleToken;
  });
  expect((await post(client, 'related-queries', { keyword: keywords })).status).toBe(200);
  expect(upstream.callsTo(EXPLORE)).toHaveLength(2);
});

test('fetches related queries of several keywords with one explore and concurrent calls', async ({
  client,
  upstream,
}) => {
  upstream.on(RELATED, async ({ params }) => {
    await upstream.received(3, RELATED);
    const value = keywordOf(params);
    const top = [{ query: value, value: 100, formattedValue: '100' }];
    return guarded({ default: { rankedList: [{ rankedKeyword: top }, {}] } });
  });
  const { json, headers } = await post(client, 'related-queries', { keyword: 'pot,kettle,cup' });
  expect(headers['x-units-consumed']).toBe('1');
  expect(json.data.results.map(({ top }: { top: { query: string }[] }) => top[0]?.query)).toEqual([
    'pot',
    'kettle',
    'cup',
  ]);
  expect(counts(upstream, EXPLORE, RELATED)).toEqual([1, 3]);
});

test('does not fetch answered keywords again after another one failed', async ({ client, upstream }) => {
  const asked: string[] = [];
  let isBroken = true;
  upstream.on(RELATED, ({ params }) => {
    const value = keywordOf(params);
    asked.push(value);
    if (isBroken && value === 'pot') return REFUSALS.gone;
    return NO_RELATED;
  });
  expect((await post(client, 'related-queries', { keyword: 'kettle,pot' })).status).toBe(502);
  await upstream.received(2, RELATED);
  isBroken = false;
  expect((await post(client, 'related-queries', { keyword: 'kettle,pot' })).status).toBe(200);
  expect(asked.filter((keyword) => keyword === 'pot')).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(1);
});

test('returns 200 with available: false for topics that upstream withholds', async ({ client, upstream }) => {
  const { status, json } = await post(client, 'related-topics', { keyword: 'kettle,pot' });
  expect(status).toBe(200);
  expect(json.data).toMatchObject({
    available: false,
    results: [
      { keyword: 'kettle', available: false, top: [], rising: [] },
      { keyword: 'pot', available: false, top: [], rising: [] },
    ],
  });
  expect(upstream.callsTo(EXPLORE)).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(1);
});

test('leaves the resolution in a country to upstream, returns the one used', async ({ client, upstream }) => {
  const own = await post(client, 'interest-by-region', { keyword: 'kettle', geo: 'us' });
  expect(own.json.data).toMatchObject({ resolution: 'REGION', geo: 'US', valueMode: 'index' });
  const cities = await post(client, 'interest-by-region', {
    keyword: 'kettle',
    geo: 'us',
    resolution: 'CITY',
  });
  expect(cities.json.data.resolution).toBe('CITY');
  expect(upstream.callsTo(MAP).map(({ params }) => JSON.parse(params.req ?? '').resolution)).toEqual([
    'REGION',
    'CITY',
  ]);
});

test('returns 400 at no charge for an unknown region, naming the parameter', async ({ client, upstream }) => {
  upstream.on(EXPLORE, () => REFUSALS.badRequest);
  const { status, json, headers } = await post(client, 'interest-over-time', {
    keyword: 'kettle',
    geo: 'US-QQ',
  });
  expect(status).toBe(400);
  expect(json).toMatchObject({ code: 'VALIDATION_FAILED', metadata: { errors: [{ parameter: 'geo' }] } });
  expect(headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(0);
});

test('uses a new window on a new day', async ({ souk, client, upstream }) => {
  await post(client, 'interest-over-time', { keyword: 'kettle' });
  souk.clock.advance(13.9 * HOUR_MS);
  await post(client, 'interest-over-time', { keyword: 'kettle' });
  souk.clock.advance(0.2 * HOUR_MS);
  const { json } = await post(await souk.client(), 'interest-over-time', { keyword: 'kettle' });
  expect(json.data).toMatchObject({ endDate: dayOf(souk), fromCache: false });
  expect(upstream.callsTo(EXPLORE)).toHaveLength(2);
});

describe('trend lists', () => {
  const queries = ({ json }: Reply) => json.data.trends.map(({ query }: { query: string }) => query);
  const daily = (by: Client, query = '') => by.get(`/api/webtrends/daily-trends${query}`);
  const realTime = (by: Client, query = '') => by.get(`/api/webtrends/real-time-trends${query}`);
  const feed = ({ clock }: Souk) => {
    const pubDate = new Date(clock.now() - HOUR_MS).toUTCString();
    const item = `<item><title>from the feed</title><approx_traffic>10000+</approx_traffic><pubDate>${pubDate}</pubDate></item>`;
    return { raw: `<rss><channel>${item}</channel></rss>`, contentType: 'text/xml' };
  };

  test('are fresh for an hour for a day, for a minute in real time', async ({ souk, client, upstream }) => {
    const first = await daily(client);
    expect(first.json.data).toMatchObject({ geo: 'US', trendDate: dayOf(souk), source: 'trending_now' });
    expect(queries(first)).toEqual(['kettle']);
    expect(queries(await realTime(client))).toEqual(['kettle']);
    souk.clock.advance(61_000);
    const other = await souk.client();
    expect((await daily(other)).headers['x-cache']).toBe('HIT');
    expect((await realTime(other)).headers['x-cache']).toBe('MISS');
    souk.clock.advance(59_000);
    expect((await realTime(await souk.client())).headers).toMatchObject({
      'x-cache': 'HIT',
      'x-units-consumed': '1',
    });
    expect(upstream.callsTo(LIST)).toHaveLength(3);
  });

  test('come from the RSS feed if the list fails', async ({ souk, client, upstream }) => {
    upstream.on(LIST, () => REFUSALS.gone);
    upstream.on(FEED, () => feed(souk));
    for (const reply of [await daily(client), await realTime(client)]) {
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

  test('return 502 for another day or a category if the list fails, without a call to the RSS feed', async ({
    souk,
    client,
    upstream,
  }) => {
    upstream.on(LIST, () => REFUSALS.gone);
    upstream.on(FEED, () => feed(souk));
    expect((await daily(client, `?trendDate=${daysAgo(souk, 3)}`)).status).toBe(502);
    expect((await realTime(client, '?category=b')).status).toBe(502);
    expect(upstream.callsTo(FEED)).toHaveLength(0);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('are returned up to the age of maxStale, with their age, while upstream refuses', async ({
    souk,
    client,
    upstream,
  }) => {
    await daily(client);
    await realTime(client);
    souk.clock.advance(2 * HOUR_MS);
    refuse(upstream, LIST, FEED);
    expect((await daily(client)).status).toBe(502);
    expect((await realTime(client, '?maxStale=7199')).status).toBe(502);
    for (const reply of [await daily(client, '?maxStale=7200'), await realTime(client, '?maxStale=7200')]) {
      expect(queries(reply)).toEqual(['kettle']);
      expect(reply.json.metadata).toMatchObject({ stale: true, ageSeconds: 7200 });
    }
    expect((await realTime(client, '?maxStale=7200')).json.data.updatedAt).toBe(
      `${dayOf(souk)}T10:00:00.000Z`,
    );
  });

  test.for([8, -1])(
    'return 400 without charge for the day of %i days ago',
    async (days, { souk, client }) => {
      const day = daysAgo(souk, days);
      const { status, json } = await daily(client, `?trendDate=${day}`);
      expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(json.msg).toBe(
        `trendDate: must be a day from ${daysAgo(souk, 7)} to ${dayOf(souk)}, got ${day}`,
      );
      expect(await unitsUsed(client)).toBe(0);
    },
  );

  test('return 400 for an unknown region, and name it', async ({ client, upstream }) => {
    upstream.on(LIST, () => guarded([['wrb.fr', 'i0OFE', null, null, null, [3], 'generic']], ")]}'\n\n"));
    expect((await daily(client, '?geo=us-qq')).json.msg).toMatch(/^geo: US-QQ is not a region/);
    expect((await realTime(client, '?geo=us-qq')).status).toBe(400);
    expect(await unitsUsed(client)).toBe(0);
  });
});

test('returns stale data to an asynchronous call with maxStale', async ({ souk, client, upstream }) => {
  await post(client, 'interest-over-time', { keyword: 'kettle' });
  souk.clock.advance(2 * HOUR_MS);
  refuse(upstream, SERIES);
  const headers = { prefer: 'respond-async' };
  const asked = { keyword: 'kettle', maxStale: 86400 };
  const { status, json } = await post(client, 'interest-over-time', asked, { headers });
  expect(status).toBe(202);
  const result = await client.get(`/api/jobs/${json.data.jobId}/result?wait=30`);
  expect(result.json).toMatchObject({ data: { keywords: ['kettle'] }, metadata: { stale: true } });
});

test('returns 502 for trends with impossible times, storing none', async ({ souk, client, upstream }) => {
  const item = ['kettle', null, 'US', [1e15], null, null, 500, null, 75, ['kettle'], [18], [], 'kettle'];
  const row = ['wrb.fr', 'i0OFE', JSON.stringify([null, [item]]), null, null, null, 'generic'];
  upstream.on(LIST, () => guarded([row], ")]}'\n\n"));
  for (const name of ['daily-trends', 'real-time-trends']) {
    expect((await client.get(`/api/webtrends/${name}?geo=FR`)).status).toBe(502);
  }
  upstream.on(LIST, () => listOf(souk, 'kettle'));
  expect((await client.get('/api/webtrends/daily-trends?geo=FR')).status).toBe(200);
});

test('returns 502 for an answer nested too deeply, and succeeds with the next one', async ({
  client,
  upstream,
}) => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  const widget = `{"id":"TIMESERIES","type":"fe_line_chart","request":${deep},"token":"t"}`;
  upstream.on(EXPLORE, () => ({ ...guarded({}), raw: `)]}'\n{"widgets":[${widget}]}` }));
  expect((await post(client, 'interest-over-time', { keyword: 'kettle' })).status).toBe(502);
  upstream.on(EXPLORE, exploreOf(upstream));
  expect((await post(client, 'interest-over-time', { keyword: 'kettle' })).status).toBe(200);
});
