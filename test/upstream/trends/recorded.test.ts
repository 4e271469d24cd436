import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { shownRelated } from '../../../src/operations/trends/related.ts';
import { guardedText, readGuarded, readWidgets } from '../../../src/upstream/trends/widgets.ts';
import { guarded, openTrendsClient, question, type TrendsClient } from '../../support/trends-client.ts';

/** Answers recorded from the real site. They are not ours to keep here, so without them these tests are skipped. */
const FOLDER = resolve('../shared/fixtures/google-trends');
const hasRecordings = existsSync(FOLDER);

interface Recording {
  name: string;
  request: {
    method: string;
    path: string;
    query?: { req?: Record<string, unknown>; token?: string; tz?: string; hl?: string };
    form?: Record<string, string>;
  };
  response: { status: number; headers: Record<string, string>; bodyFile: string; bodyBytes: number };
  body: Buffer;
}

const RECORDINGS: Recording[] = hasRecordings
  ? readdirSync(FOLDER)
      .filter((file) => file.endsWith('.meta.json'))
      .map((file) => {
        const meta = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Omit<Recording, 'body'>;
        return { ...meta, body: readFileSync(join(FOLDER, meta.response.bodyFile)) };
      })
  : [];

const ofPath = (path: string, status = 200) =>
  RECORDINGS.filter(({ request, response }) => request.path === path && response.status === status);
const recording = (name: string): Recording => {
  const found = RECORDINGS.find((one) => one.name === name);
  if (!found) throw new Error(`there is no recording ${name}`);
  return found;
};
const answerOf = ({ response, body }: Recording) => ({
  status: response.status,
  raw: body,
  contentType: response.headers['content-type'] ?? '',
});
// biome-ignore lint/suspicious/noExplicitAny: recorded answers have every shape.
const dataOf = ({ body }: Recording): any => JSON.parse(guardedText(body));
const keywordsIn = (request: Record<string, unknown> | undefined): string[] =>
  [...JSON.stringify(request).matchAll(/"value":"([^"]+)"/g)].map(([, keyword = '']) => keyword);

/** An explore answer that gives just this recorded request. */
const exploring = (id: string, type: string, { request }: Recording) =>
  guarded({ widgets: [{ id, type, request: request.query?.req, token: request.query?.token ?? 'token' }] });

describe.skipIf(!hasRecordings)('recorded answers (where ../shared/fixtures/google-trends exists)', () => {
  let client: TrendsClient;
  beforeAll(async () => {
    client = await openTrendsClient();
  });
  afterAll(() => client.close());
  beforeEach(() => {
    client.upstream.calls.length = 0;
    client.clock.advance(3_600_000);
    client.upstream.on('trends/explore', () => ({
      raw: '',
      headers: { 'set-cookie': 'NID=511=recorded; path=/' },
    }));
  });

  test('exist for every endpoint, with unchanged bytes', () => {
    expect(RECORDINGS.length).toBeGreaterThanOrEqual(31);
    for (const { body, response } of RECORDINGS) expect(body.length).toBe(response.bodyBytes);
  });

  describe.each(ofPath('/trends/api/explore'))('$name', (explored) => {
    test('has a token for every widget except texts, and a request that is sent back byte for byte', () => {
      const { widgets } = dataOf(explored) as { widgets: { type: string; request?: object }[] };
      const read = readWidgets(dataOf(explored));
      expect(read.length).toBe(widgets.filter(({ type }) => type !== 'fe_text').length);
      const text = guardedText(explored.body);
      for (const { request } of read) expect(text).toContain(JSON.stringify(request));
    });

    test('is requested as in the recording', async () => {
      const { upstream, trends, context } = client;
      const { query } = explored.request;
      const items = query?.req?.comparisonItem as { keyword: string; geo: string; time: string }[];
      const [item] = items;
      if (!item?.time.startsWith('20') || explored.name.includes('two-ranges')) return;
      upstream.on('trends/api/explore', () => answerOf(explored));
      upstream.on('trends/api/widgetdata/multiline', () => answerOf(recording('2026-multiline-empty')));
      const [startDate = '', endDate = ''] = item.time.split(' ');
      const property = (query?.req?.property || 'web') as 'web' | 'news' | 'images' | 'youtube';
      const keywords = items.map(({ keyword }) => keyword);
      await trends.interestOverTime(
        question({ keywords, startDate, endDate, property, geo: item.geo, timezone: -Number(query?.tz) }),
        context(),
      );
      const [call] = upstream.callsTo('trends/api/explore');
      expect(call).toMatchObject({ method: 'POST', body: '', params: { hl: query?.hl, tz: query?.tz } });
      expect(JSON.parse(call?.params.req ?? '')).toEqual(query?.req);
      const [data] = upstream.callsTo('trends/api/widgetdata/multiline');
      const series = dataOf(explored).widgets.find(({ id }: { id: string }) => id === 'TIMESERIES');
      expect(data?.params).toEqual({
        hl: 'en-US',
        tz: query?.tz,
        token: series.token,
        req: JSON.stringify(series.request),
      });
    });
  });

  test.each(ofPath('/trends/api/widgetdata/multiline'))('$name is parsed completely', async (recorded) => {
    const { upstream, trends, context } = client;
    const req = recorded.request.query?.req;
    const keywords = req ? keywordsIn(req) : ['kettle'];
    upstream.on('trends/api/explore', () =>
      req
        ? exploring('TIMESERIES', 'fe_line_chart', recorded)
        : guarded({ widgets: [{ id: 'TIMESERIES', type: 'fe_line_chart', request: {}, token: 'x' }] }),
    );
    upstream.on('trends/api/widgetdata/multiline', () => answerOf(recorded));
    const timeline = await trends.interestOverTime(question({ keywords }), context());
    const { timelineData } = dataOf(recorded).default;
    expect(timeline.points).toEqual(
      timelineData.map((point: Record<string, unknown>) => ({
        timestamp: Number(point.time),
        formattedTime: point.formattedTime,
        isPartial: point.isPartial === true,
        values: point.value,
        hasData: point.hasData,
      })),
    );
    expect(timeline.resolution).toBe(req?.resolution ?? 'UNKNOWN');
    if (req) expect(upstream.calls.at(-1)?.params.req).toBe(JSON.stringify(req));
  });

  test.each(ofPath('/trends/api/widgetdata/comparedgeo'))('$name is parsed completely', async (recorded) => {
    const { upstream, trends, context } = client;
    upstream.on('trends/api/explore', () => exploring('GEO_MAP', 'fe_multi_heat_map', recorded));
    upstream.on('trends/api/widgetdata/comparedgeo', () => answerOf(recorded));
    const keywords = keywordsIn(recorded.request.query?.req);
    const { resolution, regions } = await trends.interestByRegion(question({ keywords }), null, context());
    const rows = dataOf(recorded).default.geoMapData as { hasData: boolean[] }[];
    const withData = rows.filter(({ hasData }) => hasData.includes(true));
    expect(resolution).toBe('COUNTRY');
    expect(rows.length).toBeGreaterThan(200);
    expect(regions).toHaveLength(withData.length);
    expect(regions[0]).toMatchObject({ geoCode: 'CA', geoName: 'Canada', values: [98, 2], maxValueIndex: 0 });
    expect(upstream.calls.at(-1)?.params).toMatchObject({ token: recorded.request.query?.token });
  });

  test.each(ofPath('/trends/api/widgetdata/relatedsearches'))('$name is parsed fully', async (recorded) => {
    const { upstream, trends, context } = client;
    const req = recorded.request.query?.req;
    const isTopics = req?.keywordType === 'ENTITY' || req === undefined;
    const id = isTopics ? 'RELATED_TOPICS' : 'RELATED_QUERIES';
    upstream.on('trends/api/explore', () =>
      req
        ? exploring(id, 'fe_related_searches', recorded)
        : guarded({ widgets: [{ id, type: 'fe_related_searches', request: {}, token: 'x' }] }),
    );
    upstream.on('trends/api/widgetdata/relatedsearches', () => answerOf(recorded));
    const [keyword = 'kettle'] = req ? keywordsIn(req) : [];
    const asked = question({ keywords: [keyword] });
    const related = isTopics
      ? await trends.relatedTopics(asked, context())
      : await trends.relatedQueries(asked, keyword, context());
    const { rankedList } = dataOf(recorded).default;
    expect(related.available).toBe(rankedList.length > 0);
    const lists = [related.top, related.rising];
    for (const [i, { rankedKeyword }] of (rankedList as { rankedKeyword: object[] }[]).entries()) {
      expect(lists[i]?.map(({ value, formattedValue }) => ({ value, formattedValue }))).toEqual(
        rankedKeyword.map((term) => {
          const { value, formattedValue } = term as { value: number; formattedValue: string };
          return { value, formattedValue };
        }),
      );
      for (const { link } of lists[i] ?? [])
        expect(link).toMatch(/^https:\/\/trends\.google\.com\/trends\/explore/);
    }
    const breakouts = shownRelated<object>(keyword, related).rising.filter(({ isBreakout }) => isBreakout);
    expect(breakouts.every(({ formattedValue }) => formattedValue === 'Breakout')).toBe(true);
  });

  test('the cookie of a page with status 404 is used, and explore accepts it', async () => {
    const { upstream, trends, forgetCookie, clock, context } = client;
    await forgetCookie();
    upstream.on('trends/explore', () => ({
      ...answerOf(recording('cookie-warmup-404')),
      headers: { 'set-cookie': 'NID=511=page; expires=Mon, 01-Jan-2029 00:00:00 GMT; path=/; HttpOnly' },
    }));
    const gate = recording('2026-explore-429-no-cookie');
    upstream.on('trends/api/explore', ({ cookie }) =>
      cookie === 'NID=511=gate'
        ? answerOf(recording('explore-1kw-web-2021'))
        : { ...answerOf(gate), headers: { 'set-cookie': 'NID=511=gate; path=/' } },
    );
    upstream.on('trends/api/widgetdata/multiline', () => answerOf(recording('2026-multiline-empty')));
    const before = clock.now();
    await trends.interestOverTime(question({ keywords: ['pizza'] }), context());
    expect(upstream.calls.map(({ path, cookie }) => `${path} ${cookie}`)).toEqual([
      'trends/explore ',
      'trends/api/explore NID=511=page',
      'trends/api/explore NID=511=gate',
      'trends/api/widgetdata/multiline ',
    ]);
    expect(clock.now()).toBe(before);
  });

  test('2026-batchexecute-trending-us-24h is parsed despite its wrong lengths', async () => {
    const { upstream, trends, context } = client;
    upstream.on('_/TrendsUi/data/batchexecute', () =>
      answerOf(recording('2026-batchexecute-trending-us-24h')),
    );
    const asked = { geo: 'US', hl: 'en-US', hours: 20, allowFeed: true };
    const { source, trends: found } = await trends.trending(asked, context());
    expect(source).toBe('trending_now');
    expect(found).toHaveLength(7);
    expect(found[0]).toMatchObject({
      title: 'jonathan taylor thomas',
      startedAt: 1790195400,
      endedAt: null,
      active: true,
      searchVolume: 50_000,
      increasePercentage: 1000,
      topicIds: [4],
    });
    expect(found[0]?.articles).toHaveLength(3);
    expect(found[0]?.articles[0]).toMatchObject({ source: 'TMZ', publishedAt: 1790190136 });
    expect(found.at(-1)).toMatchObject({
      title: 'xbox',
      endedAt: 1790241000,
      active: false,
      topicIds: [6, 18],
    });
    const form = new URLSearchParams(upstream.calls[0]?.body);
    expect(Object.fromEntries(form)).toEqual(recording('2026-batchexecute-trending-us-24h').request.form);
  });

  test('2026-batchexecute-bad-geo is an unknown region, without a request for the feed', async () => {
    const { upstream, trends, context } = client;
    upstream.on('_/TrendsUi/data/batchexecute', () => answerOf(recording('2026-batchexecute-bad-geo')));
    const asked = { geo: 'US-QQ', hl: 'en', hours: 4, allowFeed: true };
    await expect(trends.trending(asked, context())).rejects.toMatchObject({
      kind: 'VALIDATION_FAILED',
      metadata: { errors: [{ parameter: 'geo' }] },
    });
    expect(upstream.calls).toHaveLength(1);
  });

  test('2026-rss-trending-us replaces a list that fails', async () => {
    const { upstream, trends, context } = client;
    upstream.on('_/TrendsUi/data/batchexecute', () => ({ raw: ")]}'\n\n[]" }));
    upstream.on('trending/rss', () => answerOf(recording('2026-rss-trending-us')));
    const asked = { geo: 'US', hl: 'en', hours: 4, allowFeed: true };
    const { source, trends: found } = await trends.trending(asked, context());
    expect(source).toBe('rss');
    expect(found).toHaveLength(10);
    expect(found[0]).toMatchObject({
      title: 'uss abraham lincoln',
      startedAt: Date.parse('2026-09-24T05:50:00Z') / 1000,
      searchVolume: 10_000,
      increasePercentage: null,
      endedAt: null,
      topicIds: null,
    });
    expect(found[0]?.articles).toHaveLength(3);
    expect(found.flatMap(({ articles }) => articles).every(({ url }) => url.startsWith('https://'))).toBe(
      true,
    );
    expect(JSON.stringify(found)).not.toMatch(/&(apos|amp|quot);/);
    await expect(trends.trending({ ...asked, allowFeed: false }, context())).rejects.toMatchObject({
      kind: 'UPSTREAM_ERROR',
    });
  });

  // The service does not request these, but their answers have the same guard.
  test.each(RECORDINGS.filter(({ request }) => /autocomplete|multirange|realtimetrends/.test(request.path)))(
    '$name starts with the guard',
    ({ body, response }) => {
      const contentType = response.headers['content-type'] ?? '';
      const reply = { status: 200, contentType, setCookies: [], location: null, body };
      expect(readGuarded(reply)).toEqual(JSON.parse(guardedText(body)));
      expect(() => readGuarded({ ...reply, body: body.subarray(0, body.length - 9) })).toThrow('breaks off');
    },
  );
});
