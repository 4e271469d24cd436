import { describe, expect } from 'vitest';
import { readFeed, readTrending, trendingCall } from '../../src/upstream/trends/trending-client.ts';
import { guardedText } from '../../src/upstream/trends/widgets.ts';
import type { Demo, DemoReply } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';
import { words } from '../support/words.ts';

const COOKIE = { cookie: 'NID=511=any' };

interface Widget {
  id: string;
  type: string;
  request: Record<string, unknown>;
  token: string;
}

const address = (path: string, params: Record<string, unknown>) => {
  const texts = Object.entries(params).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return `${path}?${new URLSearchParams(Object.fromEntries(texts)).toString()}`;
};
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
const read = ({ bytes }: DemoReply): any => JSON.parse(guardedText(bytes));

function explore(demo: Demo, asked: object[], headers: Record<string, string> = COOKIE): Promise<DemoReply> {
  const comparisonItem = asked.map((item) => ({
    keyword: 'kettle',
    geo: '',
    time: '2026-01-01 2026-02-28',
    ...item,
  }));
  const req = { comparisonItem, category: 0, property: '' };
  return demo.raw(address('/trends/api/explore', { hl: 'en-US', tz: '0', req }), { method: 'POST', headers });
}

async function widgets(demo: Demo, ...asked: object[]): Promise<Map<string, Widget>> {
  const list = read(await explore(demo, asked.length > 0 ? asked : [{}])).widgets as Widget[];
  return new Map(list.map((widget) => [widget.id, widget]));
}

const KINDS: Record<string, string> = {
  fe_line_chart: 'multiline',
  fe_multi_heat_map: 'comparedgeo',
  fe_geo_chart_explore: 'comparedgeo',
  fe_related_searches: 'relatedsearches',
};

function dataOf(demo: Demo, widget: Widget | undefined, changes: object = {}, tz = '0'): Promise<DemoReply> {
  if (!widget) throw new Error('there is no such widget');
  const params = { hl: 'en-US', tz, req: { ...widget.request, ...changes }, token: widget.token };
  return demo.raw(address(`/trends/api/widgetdata/${KINDS[widget.type]}`, params));
}

describe('explore', () => {
  test('returns 429 with a cookie to requests without one, and 400 to invalid ones', async ({ demo }) => {
    const gate = await explore(demo, [{}], {});
    expect([gate.status, gate.headers['content-type']]).toEqual([429, 'text/html; charset=utf-8']);
    expect(gate.headers['set-cookie']).toMatch(/^NID=/);
    expect((await explore(demo, [{ geo: 'XX' }], {})).status).toBe(400);
    const page = await demo.raw('/trends/explore?q=kettle');
    expect(page.headers['set-cookie']).toMatch(/^NID=/);
  });

  test('returns the widgets of one keyword, or of several', async ({ demo }) => {
    expect([...(await widgets(demo)).keys()]).toEqual([
      'TIMESERIES',
      'GEO_MAP',
      'RELATED_TOPICS',
      'RELATED_QUERIES',
    ]);
    expect([...(await widgets(demo, {}, { keyword: 'pot' })).keys()]).toEqual(
      words(`
      TIMESERIES GEO_MAP TITLE_0 GEO_MAP_0 RELATED_QUERIES_0 TITLE_1 GEO_MAP_1 RELATED_QUERIES_1
    `),
    );
  });

  test.for<[string, object[]]>([
    ['six keywords', Array.from({ length: 6 }, (_, i) => ({ keyword: `k${i}` }))],
    ['an unknown state', [{ geo: 'US-QQ' }]],
    ['lower case', [{ geo: 'us' }]],
    ['a window that ends before it begins', [{ time: '2026-02-28 2026-01-01' }]],
    ['a window in the future', [{ time: '2027-01-01 2027-02-01' }]],
  ])('returns 400 for %s', async ([_, asked], { demo }) => {
    expect((await explore(demo, asked)).status).toBe(400);
  });
});

describe('a token', () => {
  test('is valid for its own request, in which two fields may differ, and for a day', async ({ demo }) => {
    const map = (await widgets(demo, { geo: 'US' })).get('GEO_MAP');
    expect(map?.token).toHaveLength(44);
    expect((await dataOf(demo, map)).status).toBe(200);
    expect((await dataOf(demo, map, { resolution: 'CITY', includeLowSearchVolumeGeos: true })).status).toBe(
      200,
    );
    expect((await dataOf(demo, map, { locale: 'de' })).status).toBe(401);
    expect((await dataOf(demo, map, { resolution: 'COUNTRY' })).status).toBe(400);
    demo.clock.advance(86_400_000);
    expect((await dataOf(demo, map)).status).toBe(401);
  });
});

describe('a series', () => {
  test.for([
    ['2026-03-03 2026-03-03', 'EIGHT_MINUTE', 180],
    ['2026-03-01 2026-03-02', 'SIXTEEN_MINUTE', 180],
    ['2026-02-26 2026-03-03', 'HOUR', 144],
    // As in the recordings: windows that end in the past have no hourly points.
    ['2021-01-01 2021-01-05', 'DAY', 5],
    ['2021-01-01 2021-01-01', 'DAY', 1],
    ['2026-01-01 2026-02-28', 'DAY', 59],
    ['2025-01-01 2025-12-31', 'WEEK', 53],
    ['2016-01-01 2025-12-31', 'MONTH', 120],
  ] as const)('of %s has points of a %s', async ([time, resolution, points], { demo }) => {
    const series = (await widgets(demo, { time })).get('TIMESERIES');
    expect(series?.request.resolution).toBe(resolution);
    expect(read(await dataOf(demo, series)).default.timelineData).toHaveLength(points);
  });

  test('is the same every time, with 100 as its highest value', async ({ demo }) => {
    const ask = async () =>
      read(await dataOf(demo, (await widgets(demo, {}, { keyword: 'pot' })).get('TIMESERIES'))).default;
    const { timelineData, averages } = await ask();
    const values = timelineData.flatMap(({ value }: { value: number[] }) => value) as number[];
    expect(Math.max(...values)).toBe(100);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(averages).toHaveLength(2);
    expect(await ask()).toEqual({ timelineData, averages });
  });

  test.for([
    ['2021-01-01 2021-01-02', ['Jan 1, 2021', 'Jan 2, 2021']],
    ['2026-03-03 2026-03-03', ['Mar 2, 2026, 6:00 PM', 'Mar 2, 2026, 6:08 PM']],
  ] as const)('of %s has times in the requested zone, and days in UTC', async ([time, words], { demo }) => {
    const series = (await widgets(demo, { time })).get('TIMESERIES');
    const { timelineData } = read(await dataOf(demo, series, {}, '360')).default;
    const said = (timelineData as { formattedTime: string }[]).map(({ formattedTime }) =>
      formattedTime.replaceAll(/\s/g, ' '),
    );
    expect(said.slice(0, 2)).toEqual(words);
  });

  test('ends with a partial point', async ({ demo }) => {
    const today = new Date(demo.clock.now()).toISOString().slice(0, 10);
    const series = (await widgets(demo, { time: `2025-03-01 ${today}` })).get('TIMESERIES');
    const { timelineData } = read(await dataOf(demo, series)).default;
    const partial = (timelineData as object[]).map((point) => 'isPartial' in point);
    expect(partial.indexOf(true)).toBe(partial.length - 1);
  });
});

test('of several keywords has shares of 100 for each region', async ({ demo }) => {
  const map = (await widgets(demo, {}, { keyword: 'pot' })).get('GEO_MAP');
  const { geoMapData } = read(await dataOf(demo, map, { resolution: 'CITY' })).default;
  expect(new Set(geoMapData.map(({ geoName }: { geoName: string }) => geoName)).size).toBe(geoMapData.length);
  for (const { value, geoCode, coordinates } of geoMapData) {
    expect(value[0] + value[1]).toBeGreaterThanOrEqual(99);
    expect(geoCode).toBeUndefined();
    expect(coordinates).toBeDefined();
  }
});

test('of several keywords has shares of 100 for those that are known in a country', async ({ demo }) => {
  const map = (await widgets(demo, {}, { keyword: 'pot' })).get('GEO_MAP');
  const { geoMapData } = read(await dataOf(demo, map)).default;
  const sums = geoMapData.map(({ value }: { value: number[] }) => value.reduce((sum, one) => sum + one, 0));
  expect(sums.filter((sum: number) => sum > 0 && sum < 99)).toEqual([]);
  expect(sums).toContain(0);
});

test('by metropolitan area has the codes of the areas', async ({ demo }) => {
  const map = (await widgets(demo, { geo: 'US' })).get('GEO_MAP');
  const { geoMapData } = read(await dataOf(demo, map, { resolution: 'DMA' })).default;
  expect(new Set(geoMapData.map(({ geoCode }: { geoCode: string }) => geoCode)).size).toBe(geoMapData.length);
});

test('of related topics is withheld for some keywords, and of related queries for none', async ({ demo }) => {
  const lists = new Set<number>();
  for (const keyword of 'tea coffee pizza bagel kettle pot cup spoon plate fork'.split(' ')) {
    const found = await widgets(demo, { keyword });
    lists.add(read(await dataOf(demo, found.get('RELATED_TOPICS'))).default.rankedList.length);
    expect(read(await dataOf(demo, found.get('RELATED_QUERIES'))).default.rankedList).toHaveLength(2);
  }
  expect(lists).toEqual(new Set([0, 2]));
});

describe('trends', () => {
  const list = async (demo: Demo, geo: string, hours: number, articles = 3) => {
    const form = { 'f.req': trendingCall({ geo, language: 'en', hours, articles }) };
    return demo.raw('/_/TrendsUi/data/batchexecute?rpcids=i0OFE', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
      body: new URLSearchParams(form).toString(),
    });
  };

  test('of a window are also in a longer window', async ({ demo }) => {
    const [short, long] = [
      readTrending((await list(demo, 'US', 4)).bytes),
      readTrending((await list(demo, 'US', 24)).bytes),
    ];
    expect(short.length).toBeGreaterThan(10);
    expect(long.length).toBeGreaterThan(80);
    expect(long).toEqual(expect.arrayContaining(short));
    expect(new Set(long.map(({ active }) => active))).toEqual(new Set([true, false]));
    expect(short[0]?.articles).toHaveLength(3);
  });

  test('of an unknown region are an error with status 200', async ({ demo }) => {
    for (const reply of [await list(demo, 'XX', 4), await list(demo, 'US', 500)]) {
      expect(reply.status).toBe(200);
      expect(() => readTrending(reply.bytes)).toThrow('[3]');
    }
  });

  test('are in the feed, ten of them, newest first', async ({ demo }) => {
    const reply = await demo.raw('/trending/rss?geo=US');
    expect(reply.headers['content-type']).toMatch(/^text\/xml/);
    const fed = readFeed(reply.bytes.toString());
    expect(fed).toHaveLength(10);
    const listed = readTrending((await list(demo, 'US', 24)).bytes);
    for (const { title, startedAt, searchVolume } of fed) {
      expect(listed).toContainEqual(expect.objectContaining({ title, startedAt, searchVolume }));
    }
    const starts = fed.map(({ startedAt }) => startedAt);
    expect(starts).toEqual([...starts].sort((a, b) => b - a));
  });
});
